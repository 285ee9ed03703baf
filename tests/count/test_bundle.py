"""The files of a project in one bundle."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from sample_files import write_files

from nparam_lint.count import bundle
from nparam_lint.count.bundle import pack, unpacked
from nparam_lint.discover.files import list_buildable
from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path) -> Path:
    root = tmp_path / "project"
    write_files(
        root,
        {
            ".gitignore": "*_version.py\nout/\n.venv/\n",
            "net.py": "N = 1\n",
            "made_version.py": "V = 1\n",
            "out/weights.bin": "big",
            "out/kernels.so": "x",
            ".venv/pyvenv.cfg": "",
            ".venv/lib.py": "",
            "conf/a.yaml": "a: 1\n",
        },
    )
    (root / "link.py").symlink_to("net.py")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    (root / "new.txt").write_text("not added\n")
    return root


def test_what_is_sent_arrives_for_a_while(project):
    """All that git would not ignore; of what it does, source and compiled modules."""
    files = list_buildable(project, None)
    assert files == [
        ".gitignore",
        "conf/a.yaml",
        "link.py",
        "made_version.py",
        "net.py",
        "new.txt",
        "out/kernels.so",
    ]
    with unpacked(pack(project, [*files, "gone.py"]), "nets/part") as top:
        arrived = {str(p.relative_to(top)): p.read_text() for p in top.rglob("*") if p.is_file()}
        assert top.stat().st_mode & 0o077 == 0
    assert sorted(arrived) == sorted(f"nets/part/{name}" for name in files)
    assert arrived["nets/part/link.py"] == arrived["nets/part/net.py"] == "N = 1\n"
    assert not top.exists()


def test_too_much_to_be_sent(project, monkeypatch):
    monkeypatch.setattr(bundle, "MOST", 10)
    with pytest.raises(UsageError, match=r"the largest so far is conf/a.yaml|\.gitignore"):
        pack(project, list_buildable(project, None))
