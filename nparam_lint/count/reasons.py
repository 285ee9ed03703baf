"""Why a model is built again, in words: what has changed of all that its last measurement rests
on."""

from __future__ import annotations

import functools
import os
import re
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

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
    cache: MeasurementCache | None, orders: Sequence[Order], left: Sequence[Order]
) -> dict[int, str]:
    """Why each order is built, if it is, in words: the first of the changes. To be asked before
    anything is learned. `left`: those of which `cache` has no measurement that holds."""
    if cache is None or cache.store.base is None:
        return {order.id: UNUSED for order in orders}
    found = {}
    contexts = functools.cache(partial(_latest_contexts, cache.store.folder))
    for order in left:
        changes = dict.fromkeys(islice(_changes(order, cache, contexts), _MOST))
        found[order.id] = "; ".join(changes) or NEVER
    return found


def _changes(
    order: Order, cache: MeasurementCache, contexts: Callable[[], Mapping[str, str]]
) -> Iterator[str]:
    if cache.store.trouble:
        yield f"nothing is kept: {cache.store.trouble}"
    elif latest := next(iter(cache.variants(order)), None):
        inputs, shared = cache.facts(latest.inputs), cache.facts(latest.shared)
        for known in (cache.facts_of_interpreter(), inputs, shared):
            for change in cache.state.changes(known):
                yield in_words(*change)
    elif before := contexts().get(cache.name_of(order)):
        yield from _of_surroundings(cache.parts_of(before), cache.context_parts)


def _of_surroundings(then: Mapping[str, str] | None, now: Mapping[str, str]) -> Iterator[str]:
    """Why nothing is known with this interpreter, and these variables, of a model that was measured
    with others."""
    if then is None:
        return
    if then["nparam-lint"] != now["nparam-lint"]:
        yield "nparam-lint is another version"
    for name in ("Python", "system"):
        if then[name] != now[name]:
            yield f"{name} is {now[name]}, and was {then[name]}"
    yield from _packages(then["packages"], now["packages"])
    yield from _variables(then["variables"], now["variables"])


def _latest_contexts(folder: str) -> dict[str, str]:
    """For what each entry is about, the surroundings in which it was measured last."""
    found: dict[str, tuple[float, str]] = {}
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        kind, _, rest = entry.name.partition("-")
        name, _, context = rest.partition("-")
        if kind == "model" and len(name) == len(context):
            found[name] = max(found.get(name, (0.0, "")), (entry.stat().st_mtime, context))
    return {name: context for name, (_, context) in found.items()}


def in_words(asked: str, was: str | None, now: str | None) -> str:
    """A fact that holds no more."""
    question, _, place = asked.partition("\0")
    change = "is new" if was is None else "is gone" if now is None else "changed"
    if question.startswith("entries/"):
        before, after = (set((text or "").split(":")) for text in (was, now))
        kinds = ((after - before, "is new"), (before - after, "is gone"))
        told = [f"{name} {kind}" for names, kind in kinds for name in sorted(names) if name]
        return ", ".join(told) + ("" if place == "." else f" in {_shown(place)}")
    if question == "env":
        return _variable(place, was, now)
    if question == "machine":
        return _MACHINE[place]
    if question == "importable":
        return f"{place} is {'new' if now == 'True' else 'gone'}"
    if question in ("names", "distributions"):
        what = "what" if question == "names" else "which packages"
        return f"{what} {_shown(place)} contains changed"
    if question == "installed":
        return f"{_shown(place)}, which is installed, {change}"
    if question != "content" and was is not None and now is not None:
        change = "is something else"  # a link, a directory
    return f"{_shown(place)} {change}"


def _variable(name: str, was: str | None, now: str | None) -> str:
    if name == "*":
        return "the environment changed, and the build reads all of it"
    change = "is set" if was is None else "is not set any more" if now is None else "changed"
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
        was, is_now = before.get(name), after.get(name)
        if was != is_now:
            change = "is gone" if is_now is None else f"is {is_now}, and was {was}"
            yield f"{name} {is_now} is new" if was is None else f"{name} {change}"
    if before == after and then != now:
        yield "the names in the directory of installed packages changed"


def _versions(names: str) -> dict[str, str]:
    found = (_DISTRIBUTION.fullmatch(name) for name in names.splitlines())
    return {match[1]: match[2] for match in found if match}


def _variables(then: str, now: str) -> Iterator[str]:
    before, after = (dict(_pairs(text)) for text in (then, now))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield _variable(name, before.get(name), after.get(name))


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, value = line.partition("=")
        yield name, value
