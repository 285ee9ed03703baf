"""Why a model is built again, in words: what has changed of all that its last measurement rests
on."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

from nparam_lint.count.current_state import CODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.count.recall import MeasurementCache
    from nparam_lint.ground.orders import Order

NEVER = "never built before, or its measurement was not kept"
UNUSED = "the cache is not used"
_MOST = 3  # changes that are told of one model
_DISTRIBUTION = re.compile(r"(.+?)-([^-]+)\.(?:dist|egg)-info")
_MACHINE = {
    "node": "the machine has another name",
    "cores": "the machine has another number of cores",
}


def why_built(
    cache: MeasurementCache | None, orders: Sequence[Order], unknown: Sequence[Order]
) -> dict[int, str]:
    """Why each order is built, if it is, in words: the first of the changes. To be asked before
    anything is learned. `unknown`: those of which `cache` has no measurement that holds."""
    if cache is None or cache.store.base is None:
        return {order.id: UNUSED for order in orders}
    if cache.store.trouble:
        return {order.id: f"nothing is kept: {cache.store.trouble}" for order in unknown}
    reasons = {}
    contexts = _latest_contexts(cache.store.folder)
    for order in unknown:
        changes = dict.fromkeys(islice(_changes(order, cache, contexts), _MOST))
        reasons[order.id] = "; ".join(changes) or NEVER
    return reasons


def _latest_contexts(folder: str) -> dict[str, str]:
    """For what each entry is about, the surroundings in which it was measured last."""
    latest: dict[str, tuple[float, str]] = {}
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        kind, _, key = entry.name.partition("-")
        name, _, context = key.partition("-")
        if kind == "model" and len(name) == len(context):
            latest[name] = max(latest.get(name, (0.0, "")), (entry.stat().st_mtime, context))
    return {name: context for name, (_, context) in latest.items()}


def _changes(order: Order, cache: MeasurementCache, contexts: Mapping[str, str]) -> Iterator[str]:
    """What is new since the last measurement of an order; where none was made in these
    surroundings, what is new in these since the last one in others."""
    if latest := next(iter(cache.variants(order)), None):
        inputs, shared = cache.facts(latest.inputs), cache.facts(latest.shared)
        for facts in (cache.facts_of_interpreter(), inputs, shared):
            for change in cache.state.changes(facts):
                yield in_words(*change)
        return
    then, now = cache.parts_of(contexts.get(cache.name_of(order), "")), cache.context_parts
    if then is None:
        return
    if then["nparam-lint"] != now["nparam-lint"]:
        yield "nparam-lint is another version"
    for name in ("Python", "system"):
        if then[name] != now[name]:
            yield f"{name} is {now[name]}, and was {then[name]}"
    yield from _packages(then["packages"], now["packages"])
    texts = (then["variables"], now["variables"])
    pairs = ((line.partition("=") for line in text.splitlines()) for text in texts)
    before, after = ({name: value for name, _, value in lines} for lines in pairs)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield _variable(name, before.get(name), after.get(name))


def in_words(query: str, old: str | None, new: str | None) -> str:
    """A fact that holds no more."""
    question, _, place = query.partition("\0")
    change = "is new" if old is None else "is gone" if new is None else "changed"
    if question.startswith("entries/"):
        before, after = (set((text or "").split(":")) for text in (old, new))
        kinds = ((after - before, "is new"), (before - after, "is gone"))
        changes = [f"{name} {kind}" for names, kind in kinds for name in sorted(names) if name]
        return ", ".join(changes) + ("" if place == "." else f" in {_shown(place)}")
    if question == "env":
        return _variable(place, old, new)
    if question == "machine":
        return _MACHINE[place]
    if question == "importable":
        return f"{place} is {'new' if new == 'True' else 'gone'}"
    if question in ("names", "distributions"):
        what = "what" if question == "names" else "which packages"
        return f"{what} {_shown(place)} contains changed"
    if question == "installed":
        return f"{_shown(place)}, which is installed, {change}"
    if question not in (CODE, "content") and old is not None and new is not None:
        change = "is something else"  # a link, a directory
    return f"{_shown(place)} {change}"


def _variable(name: str, old: str | None, new: str | None) -> str:
    if name == "*":
        return "the environment changed, and the build reads all of it"
    change = "is set" if old is None else "is not set any more" if new is None else "changed"
    return f"the environment variable {name} {change}"


def _shown(place: str) -> str:
    if place == ".":
        return "the project's directory"
    for kind in ("/site-packages/", "/dist-packages/"):
        if kind in place:
            return place.partition(kind)[2]
    return place.replace("//home", "~").replace("//", "…/") if place.startswith("//") else place


def _packages(then: str, now: str) -> Iterator[str]:
    """The packages of which there is another version; torch first."""
    before, after = _versions(then), _versions(now)
    for name in sorted(before.keys() | after.keys(), key=lambda name: (name != "torch", name)):
        old, new = before.get(name), after.get(name)
        if old != new:
            change = "is gone" if new is None else f"is {new}, and was {old}"
            yield f"{name} {new} is new" if old is None else f"{name} {change}"
    if before == after and then != now:
        yield "the names in the directory of installed packages changed"


def _versions(names: str) -> dict[str, str]:
    matches = (_DISTRIBUTION.fullmatch(name) for name in names.splitlines())
    return {match[1]: match[2] for match in matches if match}
