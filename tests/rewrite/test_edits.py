"""Files are written in one step each, all or none, and only as they were read."""

import os
import stat
import subprocess

import pytest

from nparam_lint.rewrite.edits import CannotWrite, FileEdit, is_outside, unified_diff, write_all


def edit(path, new, old=b"old\r\n"):
    return FileEdit(path.name, path, old, new)


@pytest.fixture
def files(tmp_path):
    made = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in made:
        path.write_bytes(b"old\r\n")
    return made


def contents(directory):
    return {
        path.name: path.read_bytes() if path.is_file() else None for path in directory.iterdir()
    }


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_all_are_written_and_nothing_else_is_left(files, tmp_path):
    """A new file gets the usual mode, another keeps its own; a link stays one, and what it leads to
    is written."""
    usual, new, link = tmp_path / "usual", tmp_path / "new.toml", tmp_path / "inner/link.py"
    usual.touch()
    link.parent.mkdir()
    link.symlink_to("../a.py")
    files[1].chmod(0o750)
    write_all([edit(link, b"new\r\n"), edit(files[1], b"new\n"), edit(new, b"x = 1\n", None)])
    assert contents(tmp_path) == {
        "a.py": b"new\r\n",
        "b.py": b"new\n",
        "usual": b"",
        "new.toml": b"x = 1\n",
        "inner": None,
    }
    assert [*link.parent.iterdir()] == [link]
    assert link.is_symlink()
    assert new.stat().st_mode == usual.stat().st_mode
    assert stat.S_IMODE(files[1].stat().st_mode) == 0o750


def nothing(files, tmp_path, edits):
    """The message with which nothing is written."""
    before = contents(tmp_path)
    with pytest.raises(CannotWrite) as raised:
        write_all([edit(files[0], b"new"), *edits])
    assert contents(tmp_path) == before
    return str(raised.value)


def test_one_that_cannot_be_written_keeps_all_from_being(files, tmp_path):
    second = files[1]
    changed = (
        "cannot write b.py: it has changed since it was read; next: run the command again; "
        "nothing was written"
    )
    assert nothing(files, tmp_path, [edit(second, b"new", None)]) == changed  # it appeared
    second.write_bytes(b"other\r\n")
    assert nothing(files, tmp_path, [edit(second, b"new")]) == changed
    second.unlink()
    assert nothing(files, tmp_path, [edit(second, b"new")]) == changed
    second.write_bytes(b"old\r\n")
    second.chmod(0o444)
    assert nothing(files, tmp_path, [edit(second, b"new")]) == (
        "cannot write b.py: it is read-only; next: chmod u+w b.py; nothing was written"
    )
    beside = edit(tmp_path / "gone" / "new.toml", b"", None)
    said = nothing(files, tmp_path, [beside])
    assert "No such file or directory; nothing was written" in said


# --- diffs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\nthree\r\n"),
        ("a\x0c\nb\u2028c\nd".encode(), "a\x0c\nb\u2028C\nd".encode()),
        (b"one\ntwo", b"one\ntwo\n"),
        (b"", b"one\n"),
        (None, b"[budgets]\na = 1\n"),
    ],
)
def test_git_makes_the_same_of_the_diff(tmp_path, environ, old, new):
    path = tmp_path / "a.py"
    if old is not None:
        path.write_bytes(old)
    text = unified_diff(FileEdit("a.py", path, old, new))
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, cwd=tmp_path, input=text.encode(), env=environ, check=True)
    assert path.read_bytes() == new


def test_a_diff_is_no_longer_than_it_must_be(tmp_path):
    frequent = b")\n\n" * 10
    frame = b"%s\n" + frequent + b"%s\n" + 20 * frequent
    text = unified_diff(
        FileEdit("a.py", tmp_path / "a.py", frame % (b"1", b"2"), frame % (b"3", b"4"))
    )
    changed = [line for line in text.splitlines() if line[:1] in "+-"]
    assert changed == ["--- a/a.py", "+++ b/a.py", "-1", "+3", "-2", "+4"]


def test_a_diff_is_in_the_words_of_the_source(tmp_path):
    old = "# coding: latin-1\n# größe\nx = 1\n".encode("latin-1")
    assert unified_diff(
        FileEdit("a.py", tmp_path / "a.py", old, old.replace(b"x = 1", b"x = 2"))
    ) == ("--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n # coding: latin-1\n # größe\n-x = 1\n+x = 2\n")


# --- what belongs to the repository -----------------------------------------------------------


def test_links_out_of_the_repository_lie_outside(tmp_path, environ):
    top = tmp_path / "top"
    root = top / "sub"
    root.mkdir(parents=True)
    for path in (top / "shared.toml", tmp_path / "other.toml"):
        path.touch()
    (root / "link.toml").symlink_to(tmp_path / "other.toml")
    places = [root / "../shared.toml", root / "../../other.toml", root / "link.toml", root / "new"]
    assert [is_outside(p, root, environ) for p in places] == [True, True, True, False]
    subprocess.run(["git", "init", "-q", top], env=environ, check=True)
    assert [is_outside(p, root, environ) for p in places] == [False, True, True, False]
