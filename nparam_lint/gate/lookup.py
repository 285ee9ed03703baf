"""What a project or a file defines by some name, where nothing is checked."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.discover import discover
from nparam_lint.discover.files import list_files, list_importable, reader
from nparam_lint.discover.scan import scan_source
from nparam_lint.gate.candidates import why_gone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.ground.notation import Target


def models_called(name: str, session: Session) -> list[str]:
    """The targets of the models of this name: first those called so in full, and those outside of
    tests."""
    word = name.rpartition(".")[2].encode()
    definitions = _definitions(session, lambda source: word in source)
    same = [definition for definition in definitions if definition.qualname == name]
    same = same or [d for d in definitions if d.qualname.endswith(f".{name}")]
    return [*dict.fromkeys(definition.target for definition in same)]


def all_models(session: Session) -> list[str]:
    """The targets of all models; of those in tests where there are no others."""
    return [definition.target for definition in _definitions(session, lambda _: True)]


def what_file_lacks(target: Target, session: Session) -> tuple[str, Sequence[str]] | None:
    """Why a target that its file does not define is not there, and the names of the models that the
    file has; None where it may be there."""
    root, path = session.root, target.location
    discovery = discover(
        root,
        [path],
        importable=list_importable(root, session.list_below),
        in_full=[path],
        store=session.store,
    )
    gone = why_gone(target, root, discovery)
    models = [d.qualname for d in discovery.definitions if d.path == path]
    return (gone, models) if gone else None


def definition_lines(path: str, source: bytes) -> dict[str, int]:
    """Where a file defines each of its classes, functions and methods, by their targets."""
    facts = scan_source(path, source)
    definitions = (*facts.classes, *facts.functions, *facts.methods)
    return {f"{path}::{item.qualname}": item.line for item in definitions}


def _definitions(session: Session, may_hold: Callable[[bytes], bool]) -> list[Definition]:
    """The models in the files whose source may hold them; in tests where there are no others."""
    root, exclude, below = session.root, session.settings.exclude, session.list_below
    every, importable = list_files(root, (), exclude, None, below), list_importable(root, below)
    read_file, files = reader(root), []
    for path in every:
        with suppress(OSError):
            files += [path] if may_hold(read_file(path)) else []
    for tests in ((), files):
        discovery = discover(
            root,
            files,
            importable=importable,
            in_full=tests,
            store=session.store,
            timeout=session.settings.timeout,
        )
        if discovery.definitions:
            break
    return list(discovery.definitions)
