"""Commands that are to be typed next, with paths as they are where the run was called."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from nparam_lint.config.session import Session, root_around
from nparam_lint.ground.findings import UPDATE
from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import relative_path


def check(session: Session, path: str, options: str = "") -> str:
    """What checks a file or folder of the project."""
    return f"nparam-lint {options}{shlex.quote(_typed(session, session.home / path))}"


def show(session: Session, target: Target) -> str:
    return f"nparam-lint show {shlex.quote(target_of(session, target))}"


def update(session: Session, target: Target, declared_in: str) -> str:
    """What writes the count into the budget of a target, and stages it where the index is judged.
    A target of another project would lead there; the file of the budget is in this one."""
    place = session.home / target.location if target.is_path else session.caller or session.home
    is_here = root_around(place) == session.home
    name = target_of(session, target) if is_here else _typed(session, session.home / declared_in)
    add = f" && {git_add(session, [session.home / declared_in])}" if session.is_staged else ""
    return f"{UPDATE} {shlex.quote(name)}{add}"


def update_claims(session: Session, paths: Iterable[str]) -> str:
    """What corrects the counts that files of the project state."""
    return f"{UPDATE} --claims {shlex.join(_typed(session, session.home / p) for p in paths)}"


def formula(session: Session, target: Target) -> str:
    return f"nparam-lint formula {shlex.quote(target_of(session, target))}"


def git_add(session: Session, files: Iterable[Path]) -> str:
    """What stages the files that were written: those that links lead to."""
    here = os.path.realpath(session.caller or session.home)
    places = (relative_path(os.path.realpath(file), here) for file in files)
    return f"git add {shlex.join(places)}"


def target_of(session: Session, target: Target) -> str:
    host = target.host
    if host and host.is_path:
        target = replace(target, host=_moved(session, host))
    return str(_moved(session, target) if target.is_path else target)


def _moved(session: Session, target: Target) -> Target:
    return replace(target, location=_typed(session, session.home / target.location))


def _typed(session: Session, path: Path) -> str:
    return relative_path(path, session.caller or session.home)
