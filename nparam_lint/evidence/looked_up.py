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
    """Note a gap for each model with sizes that have defaults, of which no evidence was found, that
    a decorator registers, a table has as a value, or a config names; or that hands sizes on, and is
    in a table."""
    sized = {
        Target(item.path, item.qualname)
        for item in query.discovery.definitions
        if any((parameter.default or "").isdigit() for parameter in item.parameters or ())
    }
    wanted = {
        item.qualname: target
        for item in query.discovery.definitions
        if (target := Target(item.path, item.qualname)) in query.targets
        if target not in having and not query.needs_arguments(target)
        if target in sized or any(p.kind == "varkwargs" for p in item.parameters or ())
    }
    for path, match, is_in_table in _names(query) if wanted else ():
        name = match[1].decode()
        if name in wanted and (is_in_table or wanted[name] in sized):
            line = match.string.count(b"\n", 0, match.start(1)) + 1
            query.gaps.setdefault(str(wanted.pop(name)), f"{path}:{line} looks it up by a name")


def _names(query: EvidenceQuery) -> Iterator[tuple[str, re.Match[bytes], bool]]:
    """The names of what is looked up, each with the file, and whether a table has it."""
    tree = query.discovery.tree
    for path in sorted(tree.files)[:_MOST]:
        source = tree.source(path)
        if b"egist" in source:
            yield from ((path, match, False) for match in _REGISTERED.finditer(source))
        yield from ((path, match, True) for match in _IN_TABLE.finditer(source))
    configs = [path for path in query.other_files if path.lower().endswith(CONFIG_SUFFIXES)]
    for path in configs[:_MOST]:
        content = query.content(path)[:100_000]
        yield from ((path, match, False) for match in _IN_CONFIG.finditer(content))
