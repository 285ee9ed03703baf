"""What the answer of a run depends on, kept for `replay`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.cache import CONTENT, NOTHING, STATE, answers, name_of, now
from nparam_lint.repository import ask_git

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# The resolution of a file system's clock: a file that was changed so shortly before a run may be
# changed again without a trace.
_GRAIN = 50_000_000  # ns
_LONGEST = 4 << 20  # bytes of an answer that is kept
_CONFIGS = ("pyproject.toml", "nparam-lint.toml", "setup.py", ".gitignore", ".gitmodules")
_ENVIRONMENTS = (".venv", "venv")


class ReplayInputs:
    """Collects the questions whose answers decide about the answer of a run (see `cache.now`).
    `is_complete`: it depends on nothing else that is known."""

    def __init__(self, start: int) -> None:
        """`start`: when the run began to read, in ns of the system's clock."""
        self.start = start
        # (question, place) → the answer, "" where it is found out at the end
        self.facts: dict[tuple[str, str], str] = {}
        self.is_complete = True

    def note(self, question: str, places: Iterable[str]) -> None:
        for place in places:
            self.facts.setdefault((question, place), "")

    def read(self) -> Iterator[str]:
        """The files and directories whose content counts."""
        return (place for question, place in self.facts if question == CONTENT)

    def add_source(self, root: str, files: Iterable[str], digest: Callable[[str], str]) -> None:
        """Files below `root` that were read, with the digest of what was read."""
        for file in files:
            with suppress(OSError):
                self.facts[CONTENT, os.path.join(root, file)] = digest(file)

    def keep(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        text: str,
        code: int,
        python: str = "",
    ) -> int:
        """Keep the answer, unless something that it depends on changed during the run; returns how
        many bytes it takes. `python`: the interpreter that models are built with, if any."""
        if not self.is_complete or os.name != "posix":  # elsewhere a file's state tells too little
            return 0
        lines = []
        for (question, place), answer in sorted(self.facts.items()):
            state = now(STATE, place, environ) if question in (CONTENT, STATE) else NOTHING
            if state != NOTHING and max(map(int, state.split(":")[:2])) > self.start - _GRAIN:
                return 0
            lines.append((state, question, answer or now(question, place, environ), place))
        output = text.encode(sys.stdout.encoding, sys.stdout.errors or "replace")
        if len(output) > _LONGEST or any("\n" in place for *_, place in lines):
            return 0
        head = b"%d %d %s\n" % (code, len(output), os.fsencode(python))
        body = head + output + os.fsencode("\n".join(map(" ".join, lines)))
        store = answers(environ)
        store.save(name_of(arguments, environ), body)
        return store.saved

    def add_project(self, root: str, environ: Mapping[str, str], *, is_staged: bool) -> None:
        """Add everything that decides which files belong to the project at `root`, in a git working
        tree, and which interpreter it uses. `is_staged`: what is staged is compared with the last
        commit."""
        listing = ask_git(root, "ls-files", "-oi", "--exclude-standard", "--directory", "-z")
        if listing is None:
            self.is_complete = False
            return
        ignored = {n.rstrip("/") for n in os.fsdecode(listing).split("\0") if n.endswith("/")}
        for folder, subfolders, names in os.walk(root):
            configs = (os.path.join(folder, name) for name in names if name in _CONFIGS)
            self.note(CONTENT, [folder, *configs])
            here = os.path.relpath(folder, root)
            subfolders[:] = [
                name
                for name in subfolders
                if name != ".git" and os.path.normpath(os.path.join(here, name)) not in ignored
            ]
        self.note(CONTENT, _of_git(root, environ, is_staged=is_staged))
        above = root
        while not os.path.exists(os.path.join(above, ".git")) and above != os.path.dirname(above):
            above = os.path.dirname(above)
            names = [".git", *_CONFIGS, *_ENVIRONMENTS]
            self.note(CONTENT, [os.path.join(above, name) for name in names])
        environments = filter(None, map(environ.get, ("VIRTUAL_ENV", "CONDA_PREFIX")))
        self.note(CONTENT, (os.path.join(place, "bin") for place in environments))
        self.note(STATE, filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep)))
        self.note(STATE, ("/dev/nvidiactl", "/dev/nvidia0"))  # whether there is a GPU


def _of_git(root: str, environ: Mapping[str, str], *, is_staged: bool) -> Iterator[str]:
    """The paths of git's data and of its ignore rules; the main working tree."""
    # One question at a time: there may be line ends in a path.
    replies = (ask_git(root, "rev-parse", f"--git-{name}dir") for name in ("", "common-"))
    names = (os.fsdecode(reply or b"").removesuffix("\n") for reply in replies)
    git, common = (os.path.abspath(os.path.join(root, name)) for name in names)
    yield os.path.join(git, "index")
    if is_staged:
        head = os.path.join(git, "HEAD")
        yield head
        with suppress(OSError, ValueError), open(head, encoding="utf-8") as file:
            yield os.path.join(common, file.read().removeprefix("ref: ").strip())
        yield from (os.path.join(common, name) for name in ("packed-refs", "reftable/tables.list"))
    yield from (os.path.join(common, name) for name in ("info/exclude", "config"))
    yield os.path.dirname(common)
    home = os.path.expanduser("~")
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield os.path.join(home, ".gitconfig")
    yield from (os.path.join(base, "git", name) for name in ("config", "ignore"))
    yield "/etc/gitconfig"
    excludes = ask_git(root, "config", "--type=path", "core.excludesFile") or b""
    if name := os.fsdecode(excludes).strip():
        yield os.path.join(root, name)
    if environ.get("GIT_INDEX_FILE"):
        yield os.path.join(root, environ["GIT_INDEX_FILE"])
