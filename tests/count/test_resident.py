"""A worker that stays between runs: the same answers, from the process that holds torch; and
without it whenever it is not as it has to be."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import wait_until
from sample_files import write_files

from nparam_lint.count import resident

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(not resident.IS_POSSIBLE, reason=resident.IMPOSSIBLE)

NET = """\
import os
from torch import nn

{before}


class Net(nn.Module):
    \"\"\"nparam: {total}\"\"\"

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, {width})
"""


def net(total: int = 12, width: object = 3, before: str = "") -> str:
    return NET.format(total=total, width=width, before=before)


class Project:
    """A project whose runs would like a worker to stay. `environ`: that of its runs."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root / "project"
        self.environ = {
            **environ,
            "NPARAM_LINT_CACHE": str(root / "cache"),
            "NPARAM_LINT_RESIDENT": "5m",
        }
        write_files(self.root, {"net.py": net()})

    def run(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "nparam_lint", *arguments],
            cwd=self.root,
            env=self.environ | more,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )

    def check(self, source: str, *arguments: str, code: int = 0, **more: str) -> str:
        """What a check of this source says; its exit code is the given one."""
        write_files(self.root, {"net.py": source})
        done = self.run(*arguments, **more)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def beside(self) -> Project:
        """Another project, with the same cache."""
        other = Project(self.root.parent / "other", {})
        other.environ = self.environ
        return other

    def staying(self) -> list[resident.Staying]:
        return [*resident.all_of(self.environ)]

    def stayed(self) -> resident.Staying:
        """The process that stays, as soon as it can be asked."""
        return wait_until(self.staying)[0]


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]) -> Iterator[Project]:
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("r")))
    found = Project(folder, environ)
    yield found
    resident.end_all(found.environ)


@pytest.fixture
def staying(project: Project) -> Project:
    """A project for which a process has stayed."""
    project.check(net())
    wait_until(lambda: project.stayed().age > 0.3)  # so that `forks` sees the next run
    return project


def forks(project: Project) -> int:
    """How many runs have got a host of the process that stays, by its idle time: it is 0 then."""
    return sum(process.idle < process.age - 0.2 for process in project.staying())


def test_one_life(project: Project) -> None:
    """None starts without the setting; then the next run is built in a fork of it, doctor shows it,
    and clean ends it."""
    project.check(net(), NPARAM_LINT_RESIDENT="")
    assert project.staying() == []
    assert not (project.root.parent / "cache" / "resident").exists()
    project.check(net(total=16, width=4))
    pid = project.stayed().pid
    assert forks(project) == 0
    time.sleep(0.5)
    said = project.check(net(total=12, width=5), code=1)
    assert "Net has 20 parameters, declared 12" in said
    assert forks(project) == 1
    (line,) = re.findall("resident .*", project.run("doctor").stdout)
    assert f"process {pid}: " in line
    assert "ended 1 worker that stayed" in project.run("clean").stdout
    wait_until(lambda: has_ended(pid), 5)
    assert "none: the next run that builds" in project.run("doctor").stdout


@pytest.mark.thorough
def test_the_surroundings_are_those_of_the_run(staying: Project) -> None:
    what = "f'{os.getcwd()} {mask:o} {os.nice(0)}'"
    source = net(before=f"mask = os.umask(0); os.umask(mask)\nraise SystemExit({what})")
    mask = os.umask(0o027)
    try:
        said = staying.check(source, "show", "net.py::Net", code=1)
    finally:
        os.umask(mask)
    assert f"called sys.exit({staying.root} 27 {os.nice(0)})" in " ".join(said.split())
    assert forks(staying) == 1


@pytest.mark.thorough
def test_another_environment_has_a_process_of_its_own(staying: Project) -> None:
    source = net(total=15, width="int(os.environ['WIDTH'])")
    for width in ("3", "4", "4"):
        said = staying.check(source, code=1, WIDTH=width)
        assert f"Net has {4 * int(width)} parameters, declared 15" in said
    wait_until(lambda: len(staying.staying()) == 3)


@pytest.mark.thorough
def test_two_runs_at_a_time(staying: Project) -> None:
    other = staying.beside()
    write_files(staying.root, {"net.py": net(before="import time; time.sleep(2)")})
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(staying.run, "--format", "json")
        other.check(net(total=8, width=2))
        assert slow.result().returncode == 0
    assert len(staying.staying()) == 1


@pytest.mark.thorough
def test_what_packages_a_run_imports_the_next_has_already(staying: Project) -> None:
    """But no module of the project; and another project that has one of that name gets its own."""
    assert staying.stayed().packages == 0
    staying.check(net(before="import yaml"))
    wait_until(lambda: staying.stayed().packages)
    staying.check(net(before="import sys; assert 'yaml' in sys.modules"))
    staying.check(net(before="import sys; assert 'net' not in sys.modules or __name__ == 'net'"))
    other = staying.beside()
    write_files(other.root, {"yaml.py": "WIDTH = 5\n"})
    other.check(net(total=20, width="yaml.WIDTH", before="import yaml"))


SEEN = """\
import sys
from torch.nn.modules.module import _global_module_registration_hooks as hooks
WIDTH = 7 + len(hooks) if "iniconfig" in sys.modules else 5 + len(hooks)
import iniconfig
"""
MODE = "import os\nos.environ['MODE'] = str(os.getpid())\n"


@pytest.mark.thorough
def test_no_package_is_held_that_saw_what_a_project_had_set(staying: Project) -> None:
    """Such a package may be another than it is alone; nor one that the project may mean itself."""
    for _ in range(2):
        staying.check(net(total=20, width="WIDTH", before=MODE + SEEN), "--no-cache")
    staying.check(net(total=20, width="WIDTH", before=SEEN))
    wait_until(lambda: staying.stayed().packages)
    staying.check(net(total=28, width="WIDTH", before=SEEN), "--no-cache")
    write_files(staying.root, {"iniconfig.py": ""})
    staying.check(net(total=20, width="WIDTH", before=SEEN))


@pytest.mark.thorough
def test_one_that_is_not_as_it_has_to_be_is_not_missed(staying: Project) -> None:
    """It is killed in a run, and replaced after the next; it does not answer; others can enter its
    directory; its socket is gone."""
    first = staying.stayed()
    write_files(staying.root, {"net.py": net(before="import time; time.sleep(3)")})
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(staying.run)
        wait_until(lambda: forks(staying))
        os.kill(first.pid, signal.SIGKILL)
        assert "1 budget holds" in done.result().stdout
    assert staying.staying() == []
    staying.check(net(total=16, width=4))
    second = staying.stayed()
    staying.check(net(total=12, width=3))
    time.sleep(0.5)  # the host has ended
    for _ in range(2):  # whenever it is asked, it removes what hosts have left
        assert [process.pid for process in staying.staying()] == [second.pid]
    os.kill(second.pid, signal.SIGSTOP)
    assert "nparam-lint:" not in staying.check(net(total=20, width=5))
    os.kill(second.pid, signal.SIGCONT)
    Path(second.place).chmod(0o755)
    assert "nparam-lint:" not in staying.check(net(total=24, width=6))
    Path(second.place).chmod(0o700)
    (Path(second.place) / "socket").unlink()
    wait_until(lambda: has_ended(second.pid), 15)


@pytest.mark.thorough
def test_it_ends_where_what_is_installed_has_changed(staying: Project, tmp_path: Path) -> None:
    staying.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(tmp_path), staying.environ.get("PYTHONPATH")))
    )
    staying.check(net(total=16, width=4))
    wait_until(lambda: len(staying.staying()) == 2)
    place = resident.place_of(sys.executable, staying.environ)
    (second,) = [process for process in staying.staying() if process.place == place]
    write_files(tmp_path, {"new_package/__init__.py": "WIDTH = 5\n"})
    staying.check(net(total=20, width="new.WIDTH", before="import new_package as new"))
    assert second.pid in [process.pid for process in staying.staying()]  # it holds no such name
    write_files(tmp_path, {"typing_extensions.py": "WIDTH = 4\n"})
    source = net(total=16, width=4, before="import typing_extensions as new")
    # As without it: it is none that torch can use.
    assert "cannot import name" in staying.check(source, code=2)
    wait_until(lambda: has_ended(second.pid), 5)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can be another user")
@pytest.mark.thorough
def test_another_user_gets_no_answer(staying: Project) -> None:
    first = staying.stayed()
    path = Path(first.place) / "socket"
    above = [path, *path.parents]
    opened = above[: above.index(Path("/tmp")) if Path("/tmp") in above else 5]
    modes = {place: place.stat().st_mode for place in opened}
    for place in opened:
        place.chmod(0o777)
    code = f"""\
import os, socket
os.setgid(65534); os.setuid(65534)
one = socket.socket(socket.AF_UNIX); one.settimeout(5); one.connect({str(path)!r})
try:
    one.sendall(b'{{"do": "tell"}}\\n')
    print("answer", one.recv(99))
except (BrokenPipeError, ConnectionResetError):
    print("answer", b"")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    for place, mode in modes.items():  # one that others can enter is not ended by its user either
        place.chmod(mode)
    assert done.stdout == "answer b''\n", done.stderr


@pytest.mark.thorough
def test_nothing_that_a_run_left_is_there_for_the_next(staying: Project) -> None:
    staying.check(
        net(before="import tempfile; open(tempfile.gettempdir() + '/left', 'w').write('x')")
    )
    first = staying.stayed()
    assert forks(staying) == 1

    def left() -> set[str]:
        return {p.name for p in Path(first.place).iterdir() if not p.name.startswith(".memory")}

    wait_until(lambda: left() == {"socket", "log"})
    assert staying.stayed().pid == first.pid


def test_where_nothing_can_be_written_a_run_goes_on_without(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "mkdir", full)
    resident.start(sys.executable, project.environ, [], 5.0)
    assert project.staying() == []


def test_what_is_sent_by_others_is_no_answer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whoever listens there may send anything."""
    folder = tmp_path_factory.mktemp("r")
    place = folder / "x"
    place.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / "socket"))
        listener.listen(1)
        child = os.fork()
        if not child:
            connection, _ = listener.accept()
            connection.recv(1 << 16)
            connection.sendall(b"[]\n")
            os._exit(0)
        assert resident.connect(str(place)) is None
        os.waitpid(child, 0)


@pytest.mark.thorough
def test_every_count_is_the_same_with_it_and_without(staying: Project, tmp_path: Path) -> None:
    staying.root = Path(__file__).parents[2] / "examples"

    def models(**more: str) -> object:
        done = staying.run("recurrent_gpt.py", "--no-cache", "--format", "json", **more)
        return [
            {key: value for key, value in model.items() if key != "seconds"}
            for model in json.loads(done.stdout)["models"]
        ]

    with_it = models()
    assert forks(staying) == 1
    assert with_it == models(NPARAM_LINT_RESIDENT="", NPARAM_LINT_CACHE=str(tmp_path))


def has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"
