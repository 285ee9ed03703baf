"""What decides which files a project has and which interpreter builds its models."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.cache import CONTENT, STATE
from nparam_lint.repository import ask_git

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nparam_lint.cache.replay_inputs import ReplayInputs
    from nparam_lint.config.session import Session

_CONFIGS = ("pyproject.toml", "nparam-lint.toml", "setup.py", ".gitignore", ".gitmodules")
_ENVIRONMENTS = (".venv", "venv")


def note_project(session: Session, inputs: ReplayInputs) -> None:
    """Note everything that decides which files belong to the project, in a git working tree, and
    which interpreter it uses; of what is staged, also the commit that it is compared with."""
    root, environ = str(session.home), session.environ
    listing = ask_git(root, "ls-files", "-oi", "--exclude-standard", "--directory", "-z")
    if listing is None:
        inputs.is_complete = False
        return
    ignored = {n.rstrip("/") for n in os.fsdecode(listing).split("\0") if n.endswith("/")}
    for folder, subfolders, names in os.walk(root):
        configs = (os.path.join(folder, name) for name in names if name in _CONFIGS)
        inputs.note(CONTENT, [folder, *configs])
        here = os.path.relpath(folder, root)
        subfolders[:] = [
            name
            for name in subfolders
            if name != ".git" and os.path.normpath(os.path.join(here, name)) not in ignored
        ]
    inputs.note(CONTENT, _of_git(root, environ, is_staged=session.is_staged))
    above = root
    while not os.path.exists(os.path.join(above, ".git")) and above != os.path.dirname(above):
        above = os.path.dirname(above)
        names = [".git", *_CONFIGS, *_ENVIRONMENTS]
        inputs.note(CONTENT, [os.path.join(above, name) for name in names])
    environments = filter(None, map(environ.get, ("VIRTUAL_ENV", "CONDA_PREFIX")))
    inputs.note(CONTENT, (os.path.join(place, "bin") for place in environments))
    inputs.note(STATE, filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep)))
    inputs.note(STATE, ("/dev/nvidiactl", "/dev/nvidia0"))  # whether there is a GPU


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
