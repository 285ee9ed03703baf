"""Calls of models in scripts, tests and texts, with arguments that the source says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.discover.ways.call_search import CallSearch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.claims import Target
    from nparam_lint.discover.ways import FoundWay, WaySource
    from nparam_lint.discover.ways.file_calls import FileCalls
    from nparam_lint.records import Definition

_TEXTS = (".md", ".rst", ".txt", ".ipynb")
_DOCTEST = re.compile(rb"\n[ \t]*(?:>>>|\.\.\.) (.*)")


def find_calls(source: WaySource) -> Iterator[FoundWay]:
    """The ways of this kind, without two that are the same."""
    search = CallSearch(source, _open_file)
    known: set[object] = set()
    having: set[Target] = set()
    for found, key in (*_in_files(search), *_in_texts(search)):
        if key not in known:
            known.add(key)
            having.add(found.target)
            yield found
    if any(map(_may_parse, search.found.definitions)):
        from nparam_lint.discover.ways.option_objects import OptionObjects

        yield from (found for found, _ in OptionObjects(search).ways(having))


def _may_parse(definition: Definition) -> bool:
    """Whether a model may be built from the parsed options of a script."""
    return sum(item.required for item in definition.parameters or ()) == 1


def _open_file(search: CallSearch, path: str, text: str) -> FileCalls:
    from nparam_lint.discover.ways.file_calls import FileCalls  # few files have any

    return FileCalls(search, path, text)


def _in_files(search: CallSearch) -> Iterator[tuple[FoundWay, object]]:
    tree = search.found.tree
    for path in sorted(tree.files):
        content = tree.source(path)
        if search.may_call(path, content):
            yield from search.file_calls(path).ways()


def _in_texts(search: CallSearch) -> Iterator[tuple[FoundWay, object]]:
    for path in search.source.others:
        if path.endswith(_TEXTS) and search.named_in(content := search.content(path)):
            from nparam_lint.discover.ways.texts import in_text

            yield from in_text(search, path, content)
    tree = search.found.tree
    for path in sorted(tree.files):
        content = tree.source(path)
        doctests = _DOCTEST.findall(b"\n" + content) if b">>> " in content else ()
        if doctests and search.shows_call(b"\n".join(doctests)):
            from nparam_lint.discover.ways.texts import in_docstrings

            yield from in_docstrings(search, path, content)
