"""What a count may depend on: each question has another answer when what it is about changes, and
only then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nparam_lint.ground import facts
from nparam_lint.ground.facts import answer, escaped, fact, unescaped


def rewrite(path: Path) -> None:
    """Other content of the same length and times."""
    state = path.stat()
    path.write_text(path.read_text()[::-1])
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def replace_by_link(path: Path) -> None:
    path.rename(path.with_suffix(".old"))
    path.symlink_to(path.with_suffix(".old").name)


# Question and path -> what changes its answer, and what does not.
CHANGES = {
    ("content", "w.txt"): (rewrite, Path.touch),
    ("names", "d"): (lambda d: (d / "c").touch(), lambda d: rewrite(d / "b")),
    ("names", "."): (lambda d: replace_by_link(d / "w.txt"), lambda d: (d / "d/c").touch()),
    ("distributions", "d"): (lambda d: (d / "a-2.DIST-INFO").mkdir(), lambda d: (d / "c").touch()),
    ("state", "w.txt"): (rewrite, Path.read_text),
    ("state", "d"): (lambda d: (d / "c").touch(), lambda d: rewrite(d / "b")),
    ("stat", "link"): (lambda link: link.resolve().unlink(), lambda link: rewrite(link)),
    ("lstat", "link"): (Path.unlink, lambda link: link.resolve().unlink()),
    ("readlink", "link"): (
        lambda link: (link.unlink(), link.symlink_to("d")),
        lambda link: link.resolve().unlink(),
    ),
    (f"access{os.F_OK}", "w.txt"): (Path.unlink, rewrite),
}


@pytest.mark.parametrize("case", CHANGES, ids=" ".join)
def test_an_answer_changes_with_what_it_is_about(tmp_path, case):
    (tmp_path / "d").mkdir()
    for name in ("w.txt", "d/b"):
        (tmp_path / name).write_text("12345678")
    (tmp_path / "d/a-1.dist-info").mkdir()
    (tmp_path / "link").symlink_to("w.txt")
    question, name = case
    path = tmp_path / name
    changed, unchanged = CHANGES[case]
    first = answer(question, str(path))
    assert first is not None
    unchanged(path)
    assert answer(question, str(path)) == first
    changed(path)
    assert answer(question, str(path)) != first


@pytest.mark.parametrize(
    "question", ["content", "names", "distributions", "state", "stat", "lstat"]
)
def test_nothing_there_has_no_answer(tmp_path, question):
    assert answer(question, str(tmp_path / "x")) is None
    assert answer(question, "a\0b") is None


def test_kinds_of_file(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    assert answer("stat", str(tmp_path / "link")) == "directory"
    assert answer("lstat", str(tmp_path / "link")) == "link"
    assert answer("stat", "/dev/null") == "other"


def test_a_large_file_is_known_by_its_state(tmp_path, monkeypatch):
    file = tmp_path / "weights.pt"
    file.write_text("12345678")
    digest = answer("content", str(file))
    monkeypatch.setattr(facts, "LARGE", 8)
    assert answer("content", str(file)) == digest
    monkeypatch.setattr(facts, "LARGE", 7)
    assert answer("content", str(file)) == answer("state", str(file))


@pytest.mark.parametrize("path", ["a/b", "a/\udcff", "\udc80\\x", "\\u", "ä/\ud800"])
def test_names_that_are_no_text_are_written_as_text(path):
    text = escaped(path)
    assert text.encode()
    if "\ud800" not in path:  # which no file's name has
        assert unescaped(text) == path
    assert fact("stat", text).split("\0") == ["stat", text]


def test_a_digest_tells_parts_apart():
    assert facts.digest(b"ab", b"c") != facts.digest(b"a", b"bc")
