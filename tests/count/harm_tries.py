"""Tries to do harm, for test_harm.py: each is what a function does that should make a model."""

from textwrap import indent

HEAD = """\
import ctypes, datetime, multiprocessing, os, pathlib, shutil, socket, sqlite3, subprocess, sys
import tempfile
import torch
import torch.nn as nn

PLACE = pathlib.Path(os.environ["HARM_PLACE"])
VICTIM = PLACE / "victim.txt"
PORT = int(os.environ["HARM_PORT"])
C = ctypes.CDLL(None, use_errno=True)
ADDRESS = b"\\x02\\x00" + PORT.to_bytes(2, "big") + b"\\x7f\\x00\\x00\\x01" + b"\\x00" * 8


def write(path=PLACE / "evil.txt"):
    path = os.fspath(path)
    with open(path, "w") as file:
        file.write("evil")


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        write()
        return torch.zeros(1)


def write_in(context):
    process = multiprocessing.get_context(context).Process(target=write)
    process.start()
    process.join()


def write_of_rank(number):
    write()
"""
# Each tries to do harm outside of the model: to the file VICTIM, to the directory PLACE or by the
# network. Whether it raises does not matter; what is there afterwards does.
TRIES = {
    # programs and processes
    "shell_redirects": 'os.system(f"uname -a | cat > {PLACE}/evil.txt")',
    "shell_has_harmless_last": 'os.system(f"touch {PLACE}/evil.txt; ls /bin/uname")',
    "shell_has_harmless_first": 'os.system(f"uname && touch {PLACE}/evil.txt")',
    "shell_substitutes": 'os.system(f"uname $(touch {PLACE}/evil.txt)")',
    "shell_on_lines": 'os.system(f"uname\\ntouch {PLACE}/evil.txt")',
    "popen_shell": 'os.popen(f"uname > {PLACE}/evil.txt").read()',
    "subprocess_shell": 'subprocess.run(f"uname > {PLACE}/evil.txt", shell=True)',
    "program_of_that_name": """\
program = pathlib.Path(tempfile.gettempdir()) / "uname"
program.write_text(f"#!/bin/sh\\ntouch {PLACE}/evil.txt\\n")
program.chmod(0o755)
subprocess.run([str(program)])""",
    "program_that_writes": 'subprocess.run(["ldconfig", "-C", str(PLACE / "evil.txt")])',
    "program_found_elsewhere": """\
folder = pathlib.Path(tempfile.mkdtemp())
(folder / "uname").write_text(f"#!/bin/sh\\ntouch {PLACE}/evil.txt\\n")
(folder / "uname").chmod(0o755)
before = os.environ["PATH"]
os.environ["PATH"] = f"{folder}:{before}"
try:
    subprocess.run(["uname"])
finally:
    os.environ["PATH"] = before""",
    "program_without_a_module": """\
os.posix_spawn("/bin/sh", ["sh", "-c", f"echo > {PLACE}/evil.txt"], {})""",
    "program_through_c": 'C.system(f"touch {PLACE}/evil.txt".encode())',
    "fork_writes": """\
pid = os.fork()
if pid == 0:
    try:
        write()
    finally:
        os._exit(0)
os.waitpid(pid, 0)""",
    "multiprocessing_fork": 'write_in("fork")',
    "multiprocessing_spawn": 'write_in("spawn")',
    "multiprocessing_forkserver": 'write_in("forkserver")',
    "torch_spawns": """\
import torch.multiprocessing

torch.multiprocessing.spawn(write_of_rank, nprocs=1)""",
    "loader_forks": "list(torch.utils.data.DataLoader(Data(), num_workers=1))",
    "loader_spawns": """\
list(torch.utils.data.DataLoader(Data(), num_workers=1, multiprocessing_context="spawn"))""",
    "pool": """\
with multiprocessing.Pool(1) as workers:
    workers.map(write, [PLACE / "evil.txt"])""",
    # files
    "torch_saves": 'torch.save({"a": 1}, PLACE / "evil.pt")',
    "torch_saves_the_old_way": """\
torch.save({"a": 1}, PLACE / "evil.pt", _use_new_zipfile_serialization=False)""",
    "jit_saves": 'torch.jit.save(torch.jit.script(nn.Linear(2, 2)), str(PLACE / "evil.pt"))',
    "profiler_writes": """\
with torch.profiler.profile() as profile:
    torch.ones(1)
profile.export_chrome_trace(str(PLACE / "evil.json"))""",
    "autograd_profiler_writes": """\
with torch.autograd.profiler.profile() as profile:
    torch.ones(1)
profile.export_chrome_trace(str(PLACE / "evil.json"))""",
    "maps_shared": "torch.from_file(str(VICTIM), shared=True, size=1, dtype=torch.uint8).fill_(7)",
    "maps_shared_new": """\
torch.from_file(str(PLACE / "evil.bin"), shared=True, size=4, dtype=torch.uint8)""",
    "storage_maps_shared": "torch.UntypedStorage.from_file(str(VICTIM), True, 1)[0] = 7",
    "maps": """\
import mmap

with open(VICTIM, "r+b") as file:
    mmap.mmap(file.fileno(), 0)[0] = 7""",
    "database": 'sqlite3.connect(PLACE / "evil.db").execute("create table a (b)")',
    "database_changed": 'sqlite3.connect(PLACE / "right.db").execute("delete from a")',
    "database_by_address": """\
base = sqlite3.connect(f"file:{PLACE}/evil.db?mode=rwc", uri=True)
base.execute("create table a (b)")""",
    "database_attached": """\
base = sqlite3.connect(":memory:")
base.execute(f"attach '{PLACE}/evil.db' as evil")
base.execute("create table evil.a (b)")""",
    "database_copied": """\
base = sqlite3.connect(":memory:")
base.execute("create table a (b)")
base.execute(f"vacuum into '{PLACE}/evil.db'")""",
    "makes_fifo": 'os.mkfifo(PLACE / "evil")',
    "makes_node": 'os.mknod(PLACE / "evil")',
    "makes_directory": '(PLACE / "evil").mkdir()',
    "links_out": 'os.link(VICTIM, PLACE / "evil")',
    "links_symbolically": 'os.symlink(VICTIM, PLACE / "evil")',
    "links_in_and_writes": """\
inside = pathlib.Path(tempfile.gettempdir()) / "inside"
os.link(VICTIM, inside)
write(inside)""",
    "writes_through_link": """\
inside = pathlib.Path(tempfile.gettempdir()) / "inside2"
os.symlink(VICTIM, inside)
write(inside)""",
    "writes_shared_memory": 'write("/dev/shm/nparam-lint-evil")',
    "makes_shared_memory": """\
from multiprocessing import shared_memory

shared_memory.SharedMemory("nparam-lint-evil", create=True, size=8)""",
    "writes_through_c": 'C.creat(os.fsencode(PLACE / "evil.txt"), 0o644)',
    "removes_through_c": "C.unlink(os.fsencode(VICTIM))",
    "renames_through_c": 'C.rename(os.fsencode(VICTIM), os.fsencode(PLACE / "evil"))',
    "truncates_through_c": "C.truncate(os.fsencode(VICTIM), 1)",
    "removes_what_looks_like_bytecode": 'os.remove(PLACE / "module.pyc")',
    "removes_tree_that_looks_like_bytecode": 'shutil.rmtree(PLACE / "folder.pycache")',
    "writes_what_looks_like_bytecode": 'write(PLACE / "other.pyc")',
    "truncates": "os.truncate(VICTIM, 1)",
    "changes_mode": "VICTIM.chmod(0o600)",
    "changes_times": "os.utime(VICTIM, (1, 1))",
    "changes_mode_of_open": "os.fchmod(os.open(VICTIM, os.O_RDONLY), 0o600)",
    "changes_times_of_open": "os.utime(os.open(VICTIM, os.O_RDONLY), (1, 1))",
    "changes_owner_through_c": "check(C.chown(os.fsencode(VICTIM), 1, 1))",
    "makes_shared_memory_of_system_v": "check(C.shmget(0x6E706C, 4096, 0o1600))",
    "copies": 'shutil.copy(VICTIM, PLACE / "evil.txt")',
    "moves": 'shutil.move(VICTIM, PLACE / "evil.txt")',
    "by_descriptor": """\
folder = os.open(PLACE, os.O_RDONLY)
os.open("evil.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder)""",
    "by_descriptor_from_inside": """\
folder, before = os.open(PLACE, os.O_RDONLY), os.getcwd()
os.chdir(tempfile.gettempdir())
try:
    os.open("evil.txt", os.O_CREAT | os.O_WRONLY, dir_fd=folder)
finally:
    os.chdir(before)""",
    "removes_by_descriptor": """\
folder = os.open(PLACE, os.O_RDONLY)
os.unlink("victim.txt", dir_fd=folder)""",
    "renames_in": 'os.rename(VICTIM, pathlib.Path(tempfile.gettempdir()) / "stolen")',
    "renames_out": """\
inside = pathlib.Path(tempfile.gettempdir()) / "outgoing"
write(inside)
os.rename(inside, VICTIM)""",
    "compiles": """\
import py_compile

py_compile.compile(__file__, cfile=str(PLACE / "evil.pyc"))""",
    "logs": """\
import logging

logging.basicConfig(filename=PLACE / "evil.log")
logging.error("evil")""",
    # the network
    "connects": 'socket.create_connection(("127.0.0.1", PORT)).sendall(b"evil")',
    "connects_through_c": """\
descriptor = C.socket(2, 1, 0)
C.connect(descriptor, ADDRESS, 16)""",
    "sends_datagram": """\
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendto(b"evil", ("127.0.0.1", PORT))""",
    "sends_message": """\
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.sendmsg([b"evil"], [], 0, ("127.0.0.1", PORT))""",
    "sends_through_c": """\
descriptor = C.socket(2, 2, 0)
C.sendto(descriptor, b"evil", 4, 0, ADDRESS, 16)""",
    # Multipath TCP, which Landlock does not know.
    "connects_by_another_protocol": """\
descriptor = check(C.socket(2, 1, 262))
check(C.connect(descriptor, ADDRESS, 16))""",
    "connects_locally": 'socket.socket(socket.AF_UNIX).connect(str(PLACE / "socket"))',
    "binds_locally": 'socket.socket(socket.AF_UNIX).bind(str(PLACE / "evil"))',
    "connects_by_a_name": """\
check(C.connect(C.socket(1, 1, 0), b"\\x01\\x00\\0nparam-lint-%d" % PORT, 20))""",
    "asks_for_an_address": 'socket.getaddrinfo("weights.invalid", 443)',
    "opens_address": """\
import urllib.request

urllib.request.urlopen(f"http://127.0.0.1:{PORT}/")""",
    "tcp_store": """\
import torch.distributed

limit = datetime.timedelta(seconds=1)
torch.distributed.TCPStore("127.0.0.1", PORT, is_master=False, timeout=limit)""",
    "gloo": """\
import torch.distributed

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(PORT), RANK="1", WORLD_SIZE="2")
torch.distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=1))""",
}
# Nothing here is refused.
RIGHT = """\
inside = pathlib.Path(tempfile.mkdtemp())
write(inside / "a")
os.rename(inside / "a", inside / "b")
os.link(inside / "b", inside / "c")
(inside / "folder").mkdir()
shutil.move(inside / "c", inside / "folder")
shutil.rmtree(inside / "folder")
torch.save({"a": 1}, inside / "a.pt")
sqlite3.connect(inside / "a.db").execute("create table a (b)")
reader = sqlite3.connect(f"file:{PLACE}/right.db?mode=ro", uri=True)
assert reader.execute("select * from a").fetchall() == [(1,)]
with open(os.devnull, "w") as null:
    null.write("nothing")
with tempfile.TemporaryFile() as file:
    file.write(b"nothing")
left, _ = socket.socketpair()
left.send(b"nothing")
socket.socket(socket.AF_UNIX).bind(str(inside / "socket"))
child = subprocess.Popen(["uname"], stdout=subprocess.DEVNULL)
child.terminate()
child.wait()
assert subprocess.check_output(["uname", "-s"], text=True).strip() == os.uname().sysname
assert os.system("uname -s > /dev/null 2>&1") == 0
assert os.popen("uname -s 2>/dev/null").read().strip() == os.uname().sysname
assert sys.stdout is not None
return nn.Linear(2, 3)
"""


def source() -> str:
    """A file with a function for each."""
    functions = {**TRIES, "right": RIGHT}
    return HEAD + "".join(
        f"\n\ndef {name}():\n{indent(code, '    ')}\n" for name, code in functions.items()
    )
