"""Files are written in one step each, all or none, and only as they were read."""

import os
import stat
import subprocess

import pytest

from nparam_lint.config.session import open_session
from nparam_lint.rewrite.edits import CannotWrite, FileEdit, unified_diff, write_all


def edit(path, new, old=None):
    return FileEdit(path.name, path, path.read_bytes() if old is None else old, new)


@pytest.fixture
def files(tmp_path):
    made = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in made:
        path.write_bytes(b"old\r\n")
    return made


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_all_are_written_and_nothing_else_is_left(files, tmp_path):
    write_all([edit(path, b"new\r\n") for path in files])
    assert contents(tmp_path) == {"a.py": b"new\r\n", "b.py": b"new\r\n"}


def test_a_new_file_is_made_with_the_usual_mode(tmp_path):
    path, usual = tmp_path / "new.toml", tmp_path / "usual"
    usual.touch()
    write_all([FileEdit("new.toml", path, None, b"x = 1\n")])
    assert path.read_bytes() == b"x = 1\n"
    assert path.stat().st_mode == usual.stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_the_mode_stays(files):
    files[0].chmod(0o750)
    write_all([edit(files[0], b"new")])
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o750


def test_a_link_stays_a_link_and_what_it_leads_to_is_written(files, tmp_path):
    (tmp_path / "inner").mkdir()
    link = tmp_path / "inner" / "link.py"
    link.symlink_to("../a.py")
    write_all([edit(link, b"new")])
    assert link.is_symlink()
    assert files[0].read_bytes() == b"new"
    assert list((tmp_path / "inner").iterdir()) == [link]


@pytest.mark.parametrize("now", [b"other\r\n", None], ids=["changed", "deleted"])
def test_a_file_that_was_changed_meanwhile_is_not_overwritten_and_neither_is_another(
    files, tmp_path, now
):
    edits = [edit(path, b"new") for path in files]
    files[1].unlink() if now is None else files[1].write_bytes(now)
    before = contents(tmp_path)
    with pytest.raises(CannotWrite) as raised:
        write_all(edits)
    assert str(raised.value) == (
        "cannot write b.py: it has changed since it was read; next: run the command again; "
        "nothing was written"
    )
    assert contents(tmp_path) == before


def test_a_file_that_appeared_meanwhile_is_not_overwritten(files):
    with pytest.raises(CannotWrite, match=r"a\.py: it has changed since it was read"):
        write_all([FileEdit("a.py", files[0], None, b"new")])
    assert files[0].read_bytes() == b"old\r\n"


def test_a_read_only_file_keeps_all_from_being_written(files, tmp_path, monkeypatch):
    files[1].chmod(0o444)
    monkeypatch.chdir(tmp_path.parent)
    before = contents(tmp_path)
    with pytest.raises(CannotWrite) as raised:
        write_all([edit(path, b"new") for path in files])
    assert str(raised.value) == (
        f"cannot write b.py: it is read-only; next: chmod u+w {tmp_path.name}/b.py; "
        "nothing was written"
    )
    assert contents(tmp_path) == before


def test_what_cannot_be_laid_beside_its_file_is_an_error(files, tmp_path):
    place = tmp_path / "gone" / "new.toml"
    with pytest.raises(CannotWrite, match="No such file or directory; nothing was written"):
        write_all([edit(files[0], b"new"), FileEdit("new.toml", place, None, b"")])
    assert contents(tmp_path) == {"a.py": b"old\r\n", "b.py": b"old\r\n"}


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
    session = open_session(root, environ, remembers=False)
    assert [session.is_outside(p) for p in places] == [True, True, True, False]
    subprocess.run(["git", "init", "-q", top], env=environ, check=True)
    assert [session.is_outside(p) for p in places] == [False, True, True, False]
