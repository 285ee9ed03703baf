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

    def change(self, source: str) -> None:
        write_files(self.root, {"net.py": source})

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
    done = project.run()
    assert done.returncode == 0, done.stdout + done.stderr
    project.stayed()
    return project


def forks(project: Project) -> int:
    """How many runs have got a host of the process that stays, by its idle time: it is 0 then."""
    return sum(process.idle < process.age - 0.2 for process in project.staying())


def test_one_life(project: Project) -> None:
    """None starts without the setting; then the next run is built in a fork of it, doctor shows it,
    and clean ends it."""
    assert project.run(NPARAM_LINT_RESIDENT="").returncode == 0
    assert project.staying() == []
    assert not (project.root.parent / "cache" / "resident").exists()
    project.change(net(total=16, width=4))
    assert project.run().returncode == 0
    pid = project.stayed().pid
    assert forks(project) == 0
    time.sleep(0.5)
    project.change(net(total=12, width=5))
    done = project.run()
    assert done.returncode == 1
    assert "Net has 20 parameters, declared 12" in done.stdout
    assert forks(project) == 1
    (line,) = re.findall("resident .*", project.run("doctor").stdout)
    assert f"process {pid}: " in line
    done = project.run("clean")
    assert "ended 1 worker that stayed" in done.stdout
    wait_until(lambda: has_ended(pid), 5)
    assert "none: the next run that builds" in project.run("doctor").stdout


@pytest.mark.thorough
def test_the_surroundings_are_those_of_the_run(staying: Project) -> None:
    what = "f'{os.getcwd()} {mask:o} {os.nice(0)}'"
    staying.change(net(before=f"mask = os.umask(0); os.umask(mask)\nraise SystemExit({what})"))
    mask = os.umask(0o027)
    try:
        done = staying.run("show", "net.py::Net")
    finally:
        os.umask(mask)
    assert f"called sys.exit({staying.root} 27 {os.nice(0)})" in " ".join(done.stdout.split())
    assert forks(staying) == 1


@pytest.mark.thorough
def test_another_environment_has_a_process_of_its_own(staying: Project) -> None:
    staying.change(net(total=15, width="int(os.environ['WIDTH'])"))
    assert staying.run(WIDTH="3").returncode == 1  # 12 parameters
    done = staying.run(WIDTH="4")
    assert "Net has 16 parameters, declared 15" in done.stdout
    wait_until(lambda: len(staying.staying()) == 3)
    assert len(staying.staying()) == 3
    done = staying.run(WIDTH="4")
    assert "Net has 16 parameters, declared 15" in done.stdout


@pytest.mark.thorough
def test_two_runs_at_a_time(staying: Project) -> None:
    staying.change(net(total=12, before="import time; time.sleep(2)"))
    other = Project(staying.root.parent / "other", {})
    other.environ = staying.environ
    other.change(net(total=8, width=2))
    command = [sys.executable, "-m", "nparam_lint", "--format", "json"]
    pipe = subprocess.PIPE
    running = [
        subprocess.Popen(command, cwd=p.root, env=p.environ, stdout=pipe, encoding="utf-8")
        for p in (staying, other)
    ]
    reports = [json.loads(process.communicate(timeout=60)[0]) for process in running]
    assert [model["counts"]["total"] for report in reports for model in report["models"]] == [12, 8]
    assert len(staying.staying()) == 1


@pytest.mark.thorough
def test_what_packages_a_run_imports_the_next_has_already(staying: Project) -> None:
    assert staying.stayed().packages == 0
    staying.change(net(before="import yaml"))
    assert staying.run().returncode == 0
    wait_until(lambda: staying.stayed().packages)
    staying.change(net(before="import sys; assert 'yaml' in sys.modules"))
    assert staying.run().returncode == 0
    staying.change(net(before="import sys; assert 'net' not in sys.modules or __name__ == 'net'"))
    assert staying.run().returncode == 0


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
    staying.change(net(total=20, width="WIDTH", before=MODE + SEEN))
    assert [staying.run("--no-cache").returncode for _ in range(2)] == [0, 0]
    staying.change(net(total=20, width="WIDTH", before=SEEN))
    assert staying.run().returncode == 0
    wait_until(lambda: staying.stayed().packages)
    staying.change(net(total=28, width="WIDTH", before=SEEN))
    assert staying.run("--no-cache").returncode == 0
    write_files(staying.root, {"iniconfig.py": ""})
    staying.change(net(total=20, width="WIDTH", before=SEEN))
    assert staying.run().returncode == 0


@pytest.mark.thorough
def test_a_project_gets_no_package_in_the_place_of_its_own(staying: Project) -> None:
    staying.change(net(before="import yaml"))
    assert staying.run().returncode == 0
    wait_until(lambda: staying.stayed().packages)
    other = Project(staying.root.parent / "other", staying.environ)
    other.environ = staying.environ
    write_files(other.root, {"yaml.py": "WIDTH = 5\n"})
    other.change(net(total=20, width="yaml.WIDTH", before="import yaml"))
    done = other.run()
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_one_that_is_killed_during_a_run_is_not_missed(staying: Project) -> None:
    staying.change(net(before="import time; time.sleep(3)"))
    command = [sys.executable, "-m", "nparam_lint"]
    with subprocess.Popen(
        command, cwd=staying.root, env=staying.environ, stdout=subprocess.PIPE, encoding="utf-8"
    ) as run:
        time.sleep(2)
        os.kill(staying.stayed().pid, signal.SIGKILL)
        said, _ = run.communicate(timeout=60)
    assert run.returncode == 0, said
    assert "1 budget holds" in said


@pytest.mark.thorough
def test_a_socket_that_nobody_listens_to_is_replaced(staying: Project) -> None:
    first = staying.stayed()
    os.kill(first.pid, signal.SIGKILL)
    time.sleep(0.2)
    assert staying.staying() == []
    staying.change(net(total=16, width=4))
    assert staying.run().returncode == 0
    assert staying.stayed().pid != first.pid


@pytest.mark.thorough
def test_one_whose_socket_is_gone_ends(staying: Project) -> None:
    first = staying.stayed()
    (Path(first.place) / "socket").unlink()
    wait_until(lambda: has_ended(first.pid), 15)


@pytest.mark.thorough
def test_one_that_does_not_answer_is_not_waited_for(staying: Project) -> None:
    first = staying.stayed()
    os.kill(first.pid, signal.SIGSTOP)
    try:
        staying.change(net(total=16, width=4))
        done = staying.run()
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stderr == ""
    finally:
        os.kill(first.pid, signal.SIGCONT)


@pytest.mark.thorough
def test_it_ends_where_what_is_installed_has_changed(staying: Project, tmp_path: Path) -> None:
    staying.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, (str(tmp_path), staying.environ.get("PYTHONPATH")))
    )
    staying.change(net(total=16, width=4))
    assert staying.run().returncode == 0
    wait_until(lambda: len(staying.staying()) == 2)
    place = resident.place_of(sys.executable, staying.environ)
    (second,) = [process for process in staying.staying() if process.place == place]
    write_files(tmp_path, {"new_package/__init__.py": "WIDTH = 5\n"})
    staying.change(net(total=20, width="new.WIDTH", before="import new_package as new"))
    assert staying.run().returncode == 0
    assert second.pid in [process.pid for process in staying.staying()]  # it holds no such name
    write_files(tmp_path, {"typing_extensions.py": "WIDTH = 4\n"})
    staying.change(net(total=16, width=4, before="import typing_extensions as new"))
    done = staying.run()
    assert done.returncode == 2  # as without it: it is none that torch can use
    assert "cannot import name" in done.stderr
    wait_until(lambda: has_ended(second.pid), 5)


@pytest.mark.thorough
def test_a_directory_that_others_can_enter_is_not_used(staying: Project) -> None:
    first = staying.stayed()
    Path(first.place).chmod(0o755)
    staying.change(net(total=16, width=4))
    done = staying.run()
    assert (done.returncode, done.stderr) == (0, "")
    Path(first.place).chmod(0o700)
    assert forks(staying) == 0


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can be another user")
@pytest.mark.thorough
def test_another_user_gets_no_answer(staying: Project) -> None:
    first = staying.stayed()
    folders = [Path(first.place), *Path(first.place).parents]
    for folder in folders[: folders.index(Path("/tmp")) if Path("/tmp") in folders else 4]:
        folder.chmod(0o777)
    path = Path(first.place) / "socket"
    path.chmod(0o777)
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
    assert done.stdout == "answer b''\n", done.stderr


@pytest.mark.thorough
def test_nothing_that_a_run_left_is_there_for_the_next(staying: Project) -> None:
    left = "import tempfile; open(tempfile.gettempdir() + '/left', 'w').write('x')"
    staying.change(net(before=left))
    staying.run()
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
def test_every_count_is_the_same_with_it_and_without(staying: Project) -> None:
    examples = Path(__file__).parents[2] / "examples"

    def report(**more: str) -> list[dict]:
        done = subprocess.run(
            [sys.executable, "-m", "nparam_lint", "--no-cache", "--format", "json"],
            cwd=examples,
            env=staying.environ | more,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        models = json.loads(done.stdout)["models"]
        for model in models:
            model.pop("seconds", None)
        return models

    with_it = report()
    assert forks(staying) == 1
    assert with_it == report(NPARAM_LINT_CACHE=str(staying.root.parent / "other_cache"))


def has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"
