"""The files of a project in one archive, and what a machine keeps of those that it got."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from nparam_lint.count import bundle
from nparam_lint.count.bundle import pack, unpacked
from nparam_lint.discover.files import list_buildable
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="bundles are unpacked on Linux and macOS"
)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(bundle.tempfile, "gettempdir", lambda: str(place))
    return place / f"nparam-lint-{os.getuid()}"


@pytest.fixture
def project(tmp_path) -> Path:
    root = tmp_path / "project"
    for name, text in {
        ".gitignore": "*_version.py\nout/\n.venv/\n",
        "net.py": "N = 1\n",
        "made_version.py": "V = 1\n",
        "out/weights.bin": "big",
        "out/kernels.so": "x",
        ".venv/pyvenv.cfg": "",
        ".venv/lib.py": "",
        "conf/a.yaml": "a: 1\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "link.py").symlink_to("net.py")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    (root / "new.txt").write_text("not added\n")
    return root


def names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir())


def test_what_is_sent(project):
    """All that git would not ignore; of what it does, source and compiled modules."""
    assert list_buildable(project, None) == [
        ".gitignore",
        "conf/a.yaml",
        "link.py",
        "made_version.py",
        "net.py",
        "new.txt",
        "out/kernels.so",
    ]


def test_the_content_alone_gives_the_name(project):
    files = list_buildable(project, None)
    first = pack(project, "project", files)
    os.utime(project / "net.py", (1, 1))
    assert pack(project, "project", reversed(files)) == first
    (project / "net.py").write_text("N = 2\n")
    assert pack(project, "project", files).digest != first.digest
    with unpacked(first.data, first.digest) as tree:
        found = {str(p.relative_to(tree)): p.read_text() for p in tree.rglob("*") if p.is_file()}
    assert sorted(found) == sorted(f"project/{name}" for name in files)
    assert found["project/link.py"] == found["project/net.py"] == "N = 1\n"


def test_it_is_unpacked_once_by_many_at_a_time(project, temporary):
    packed = pack(project, "project", list_buildable(project, None))
    script = (
        "import sys, os\nfrom nparam_lint.count.bundle import unpacked\n"
        "data = sys.stdin.buffer.read()\n"
        "with unpacked(data, sys.argv[1]) as tree:\n    print(os.stat(tree).st_ino)\n"
    )
    environ = os.environ | {"TMPDIR": str(temporary.parent)}
    command = [sys.executable, "-c", script, packed.digest]
    running = [
        subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in running:
        process.stdin.write(packed.data)
        process.stdin.close()
    assert len({process.stdout.read() for process in running}) == 1
    assert [process.wait() for process in running] == [0] * 4
    for process in running:
        process.stdout.close()
    assert names(temporary) == sorted([packed.digest, "lock"])


def test_what_is_damaged_is_not_unpacked(project, temporary):
    packed = pack(project, "project", ["net.py"])
    with pytest.raises(ValueError, match="arrived damaged"), unpacked(b"x", packed.digest):
        pass
    assert names(temporary) == ["lock"]


def test_the_oldest_go_unless_they_are_in_use(project, temporary, monkeypatch):
    monkeypatch.setattr(bundle, "KEPT", 2)
    packed = [pack(project, f"project{n}", ["net.py"]) for n in range(4)]
    with unpacked(packed[0].data, packed[0].digest) as used:
        for number, one in enumerate(packed[1:], 1):
            with unpacked(one.data, one.digest) as tree:
                pass
            os.utime(tree, (number, number))
            os.utime(used, (0, 0))
        left = {path.name for path in temporary.iterdir()}
    assert left == {"lock", packed[0].digest, packed[2].digest, packed[3].digest}


def test_a_directory_that_others_can_write_to_is_not_used(project, temporary):
    packed = pack(project, "project", ["net.py"])
    temporary.mkdir()
    temporary.chmod(0o777)
    with (
        pytest.raises(PermissionError, match="only its user can write to"),
        unpacked(packed.data, packed.digest),
    ):
        pass


def test_too_much_to_be_sent(project, monkeypatch):
    monkeypatch.setattr(bundle, "MOST", 10)
    with pytest.raises(UsageError, match=r"the largest so far is conf/a.yaml|\.gitignore"):
        pack(project, "project", list_buildable(project, None))
