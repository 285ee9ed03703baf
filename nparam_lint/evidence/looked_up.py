"""Models that a project looks up by a name, which nothing here follows: their defaults may be
another size than the one that it builds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import CONFIG_SUFFIXES
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from nparam_lint.evidence import EvidenceQuery

_MOST = 500  # files that are looked through
_REGISTERED = late_pattern(
    rb"^@[\w.]*[Rr][Ee][Gg][Ii][Ss][Tt]\w*.*\n(?:@.*\n)*class[ \t]+(\w+)", re.MULTILINE
)
_IN_TABLE = late_pattern(rb"[\"'][ \t]*:[ \t]*(?:\w+\.)*([A-Za-z_]\w*)[ \t]*[,}\n]")
_IN_CONFIG = late_pattern(rb"\b[a-z]\w*(?:\.\w+)*\.([A-Z]\w*)\b")


def note_looked_up(query: EvidenceQuery, having: Collection[Target]) -> None:
    """Note a gap for each model with sizes that have defaults, or are handed on, of which no
    evidence was found, that a decorator registers, a table has as a value, or a config names."""
    wanted = {
        item.qualname: target
        for item in query.discovery.definitions
        if any(
            (parameter.default or "").isdigit() or parameter.kind == "varkwargs"
            for parameter in item.parameters or ()
        )
        if (target := Target(item.path, item.qualname)) in query.targets
        if target not in having and not query.needs_arguments(target)
    }
    for name, place in _places(query) if wanted else ():
        if name in wanted:
            query.gaps.setdefault(str(wanted.pop(name)), f"{place} looks it up by a name")


def _places(query: EvidenceQuery) -> Iterator[tuple[str, str]]:
    """The names of classes that are looked up, each with where that is said."""

    def named(pattern: re.Pattern[bytes], path: str, source: bytes) -> Iterator[tuple[str, str]]:
        for match in pattern.finditer(source):
            line = source.count(b"\n", 0, match.start(1)) + 1
            yield match[1].decode(), f"{path}:{line}"

    tree = query.discovery.tree
    for path in sorted(tree.files)[:_MOST]:
        source = tree.source(path)
        if b"egist" in source:
            yield from named(_REGISTERED, path, source)
        yield from named(_IN_TABLE, path, source)
    configs = [path for path in query.other_files if path.lower().endswith(CONFIG_SUFFIXES)]
    for path in configs[:_MOST]:
        yield from named(_IN_CONFIG, path, query.content(path)[:100_000])
