"""Which share of a mixture of experts one token uses."""

from __future__ import annotations

import collections
import collections.abc
import contextlib
import fractions
import math
import re
from typing import NamedTuple

from ..state import STATE
from ..symbolic.shapes import traced_shape
from ..symbolic.traced_numbers import Traced, TracedInt, plain, traced
from ..tracing.project_paths import is_below, upwards

# How many experts a token uses: names that mean nothing else,
ROUTED = (
    "num_experts_per_tok num_experts_per_token n_experts_per_tok n_experts_per_token"
    " experts_per_token n_expert_per_token n_activated_experts num_activated_experts"
    " num_active_experts num_selected_experts top_k_experts moe_router_topk moe_top_k moe_topk"
    " router_top_k"
).split()
# and names that mean it where a token is routed.
OFTEN_ROUTED = ("top_k", "topk", "moe_k")
# How many there are.
NUMBER = (
    "num_experts n_experts n_expert num_expert num_local_experts n_local_experts n_routed_experts"
    " num_routed_experts moe_num_experts"
).split()
NAMES = frozenset(NUMBER)
SAMPLING = ("temperature", "top_p", "do_sample")  # beside these, top_k is one of them
CONFIGS = ("config", "cfg", "args")
INNER_CONFIGS = ("text_config", "ffn_config", "moe")
ROUTER = re.compile("gate|gating|rout", re.IGNORECASE)
TOP = re.compile(r"Top(\d+)")


class Experts(NamedTuple):
    """Equal experts: the `path` of the module that holds them, how many there are, and for each
    parameter, by its id, of how many experts it is a part. `is_stacked`: whether each parameter has
    all of them."""

    path: str
    number: int
    parts: collections.Counter
    is_stacked: bool = False


class Routing:
    """`idle`: id(parameter) -> the share of it that a token does not use; `uses`: -> (how many
    experts are used, of how many) of each mixture that it is in, None where that says not all.
    `unknown`: why it is unknown. `misdeclared`: what is wrong with the `declared` number of experts
    that a token uses. `notes`: what else the model says of that number.

    Routed experts are modules of one size in a list that is called `…expert…`; or parameters
    stacked along a first dimension, in a module that is called or of a class called `…experts`, or
    that itself says how many experts it has. Those that are called shared are not routed."""

    def __init__(self, originals, modules, parameters, declared):
        self.originals, self.modules, self.parameters = originals, modules, parameters
        self.declared = declared
        self.idle, self.notes = {}, []
        self.values = {}  # (id of an object, name) -> it, and what it has under that name
        self.uses = collections.defaultdict(list)
        self.wrong = self.misdeclared = None
        self.children = collections.defaultdict(list)
        for path in modules:
            if path:
                self.children[path.rpartition(".")[0]].append(path)
        mixtures, unclear = [], None
        self.stated_numbers = {}  # path -> how many experts a module says that it has
        for path, module in modules.items():
            numbers = numbers_of_experts(originals.attributes(module))
            if numbers:
                self.stated_numbers[path] = numbers
        holders = [path for path in modules if self.holds_experts(path)]
        for path in holders:
            experts, why = self.experts_in(path, holders)
            mixtures += experts
            unclear = why or unclear
        self.unknown = unclear or self.overlooked(mixtures)
        uses_declared = [self.use(experts) for experts in mixtures]
        if declared is not None and not any(uses_declared):
            text = "experts_per_token = {} is declared, but {}"
            why = self.unknown or "the model has no experts: none were found"
            self.misdeclared = text.format(declared, why)
        elif self.wrong:
            self.misdeclared = self.unknown = self.wrong

    def holds_experts(self, path):
        """Whether a module is one that holds routed experts, by its name, its class, or what it
        says of itself."""
        module, name = self.modules[path], path.rpartition(".")[2].lower()
        if "shared" in name:
            return False
        if name.endswith("experts") or ("expert" in name and self.is_list(module)):
            return True
        kind = self.kind(module)
        if kind.endswith("Experts") and "Shared" not in kind:
            return True
        numbers = self.stated_numbers.get(path)
        shapes = self.held_shapes(module) if numbers else ()
        return any(len(shape) > 2 and shape[0] in numbers for _, shape in shapes)

    def experts_in(self, path, holders):
        """The like experts of a module that is called so; or none, and why, unless others that are
        called so (`holders`) stand in it and tell for themselves."""
        torch = self.originals
        parameters = [
            torch.parameters_below(module)
            for _, module in torch.own_children(self.modules[path])
            if not torch.is_a(module, (torch.Dropout,))
        ]
        sizes = {sum(map(torch.size, each)) for each in parameters}
        if self.is_list(self.modules[path]) and len(sizes) == 1 and 0 not in sizes:
            parts = collections.Counter(id(p) for each in parameters for p in each)
            return [Experts(path, len(parameters), parts)], None
        stacked = [part for part in self.held_shapes(self.modules[path]) if len(part[1]) > 1]
        numbers = sorted({shape[0] for _, shape in stacked if len(shape) > 2})
        expected = sorted(self.numbers(path)) if numbers else []
        text = "the experts in {} are ".format(shown(path))
        if len(numbers) > 1:
            text += "stacked along first dimensions of {}"
            return [], text.format(" and ".join(map(str, numbers)))
        if expected and numbers[0] not in expected:
            text += "stacked along a first dimension of {}, but there should be {} of them"
            return [], text.format(numbers[0], " or ".join(map(str, expected)))
        if numbers:
            number = numbers[0]
            return [Experts(path, number, ids(stacked, {number}), is_stacked=True)], None
        if any(holder != path and is_below(holder, path) for holder in holders):
            return [], None
        inside = [p for p in self.modules if is_below(p, path)]
        flat = [experts for experts in map(self.flat, inside) if experts]
        text += "neither modules of equal size nor stacked along a first dimension"
        return flat, text if sizes - {0} and not flat else None

    def flat(self, path):
        """Experts one below the other in matrices, where the module that holds these says so: the
        first dimension is the product of the number of experts and another number there, and none
        of the numbers itself."""
        module = self.modules[path]
        values = self.originals.attributes(module)
        shapes = self.held_shapes(module)
        heights = {shape[0] for _, shape in shapes if len(shape) > 1}
        numbers = self.stated_numbers.get(path, {})
        sizes = {plain(v) for v in values.values() if is_whole(v) and plain(v) > 1}
        for number in numbers if heights else ():
            is_product = all(h % number == 0 and h // number in sizes for h in heights)
            # The last is asked again, where that is noted.
            if is_product and not heights & sizes and numbers[number] > 1:
                return Experts(path, number, ids(shapes, heights), is_stacked=True)
        return None

    def overlooked(self, mixtures):
        """Why there may be experts that were not found: a module that is not a router states their
        number, and none are in it or beside it."""
        places = {experts.path for experts in mixtures}
        holders = {above for path in places for above in upwards(path)}
        for path, numbers in self.stated_numbers.items():
            if ROUTER.search(self.kind(self.modules[path])):
                continue
            if path.rpartition(".")[0] not in holders and places.isdisjoint(upwards(path)):
                text = "{} says that it has {} experts, which were not found"
                return text.format(shown(path), max(numbers))
        return None

    # --- how many are used ---

    def use(self, experts):
        """Record the share of the experts that a token does not use; returns whether the declared
        number was used."""
        number = self.expressed(experts)
        if self.declared is not None and self.declared > number:
            text = "experts_per_token = {} is declared, more than there are experts in {}: {}"
            self.wrong = text.format(self.declared, shown(experts.path), number)
            return True
        statements = self.statements(experts.path)
        fit = (pair for pair in statements if pair and 0 < pair[1] <= number)
        name, uses = next(fit, (None, None))
        if uses is None and number <= 1:
            uses = 1
        elif experts.number > 1 and self.declared is not None:
            if uses not in (None, self.declared):
                text = "experts_per_token = {} is declared; the model itself has {} = {}"
                note = text.format(self.declared, name, uses)
                self.notes += [note] if note not in self.notes else []
            uses = self.declared
        if uses is None:
            self.unknown = (
                "it is unknown how many of the {} experts in {} a token uses; declare "
                "experts_per_token".format(number, shown(experts.path))
            )
            return False
        several, of = plain(uses), number if experts.is_stacked else experts.number
        for key, parts in experts.parts.items():
            if all(is_below(owner, experts.path) for owner in self.parameters[key].owners):
                # None of the experts that it is a part of is among those that the token uses.
                all_ways = math.comb(experts.number, several)
                idle = fractions.Fraction(math.comb(experts.number - parts, several), all_ways)
                self.idle[key] = 1 - (1 - self.idle.get(key, 0)) * (1 - idle)
                self.uses[key].append((uses, of) if parts == 1 else None)
        return True

    def expressed(self, experts):
        """How many there are, as an expression where a constructor is traced and states it."""
        if experts.is_stacked:
            key = next(iter(experts.parts))
            lengths = traced_shape(self.parameters[key].tensor, self.parameters[key].shape)
            if lengths and plain(lengths[0]) == experts.number:
                return lengths[0]
        number = self.numbers(experts.path, least=1).get(experts.number, experts.number)
        if STATE.trace is None or STATE.trace.paused or isinstance(number, Traced):
            return number
        return traced(number, STATE.trace.loops.get(number))

    def statements(self, path):
        """The objects that may state how many are used: the modules around the experts and their
        routers, then config objects, the nearest first."""
        modules, routers = self.around(path)
        for names in (ROUTED, OFTEN_ROUTED):
            for holder in modules + routers:
                yield self.field(holder, names)
        for router in routers:
            yield self.field(router, ("k",))
        for config in self.configs(path):
            yield self.field(config, ROUTED)
            if not any(self.value(config, name) is not None for name in SAMPLING):
                yield self.field(config, OFTEN_ROUTED)
        for router in routers:
            top = TOP.search(self.kind(router))
            if top:
                yield self.kind(router), int(top[1])

    def around(self, path):
        """A module with experts and those around it, up to the first that is no list and not called
        experts; and those that choose experts: modules beside or below these that are called so."""
        paths = []
        for above in upwards(path):
            paths.append(above)
            if above != path and not (
                self.is_list(self.modules[above]) or self.holds_experts(above)
            ):
                break
        beside = [(p, self.modules[p]) for above in paths for p in self.children[above]]
        return [self.modules[p] for p in paths], [
            module
            for p, module in beside
            if ROUTER.search(p.rpartition(".")[2] + " " + self.kind(module))
        ]

    def numbers(self, path, least=2):
        """How many experts there should be, according to the nearest object that states it; or
        nothing."""
        modules, routers = self.around(path)
        for holder in (*modules, *routers, *self.configs(path)):
            values = {name: self.value(holder, name) for name in NUMBER}
            numbers = numbers_of_experts(values, least)
            if numbers:
                return numbers
        return {}

    def configs(self, path):
        """The config objects of a module and of those around it, the nearest first."""
        configs = []
        for above in upwards(path):
            for name in CONFIGS:
                config = self.value(self.modules[above], name)
                if config is not None and not any(config is nearer for nearer in configs):
                    configs.append(config)
        inner = [self.value(config, name) for config in configs for name in INNER_CONFIGS]
        return configs + [config for config in inner if config is not None]

    def value(self, holder, name):
        """An attribute, or an entry of a mapping; None where it is not there or cannot be read. It
        is read once: there are many modules around one config, and transformers' answer slowly."""
        key = id(holder), name
        if key not in self.values:
            value = None
            with contextlib.suppress(Exception):
                is_mapping = isinstance(holder, collections.abc.Mapping)
                value = holder.get(name) if is_mapping else getattr(holder, name, None)
            self.values[key] = holder, value  # the holder, so that its id is not given away
        return self.values[key][1]

    def field(self, holder, names):
        """The first of these names that is a whole number, with its value; or None."""
        pairs = ((name, self.value(holder, name)) for name in names)
        return next((pair for pair in pairs if is_whole(pair[1])), None)

    def is_list(self, module):
        return self.originals.is_a(module, self.originals.lists)

    def kind(self, module):
        return self.originals.name(module)

    def held_shapes(self, module):
        """[(id, shape)] of the parameters that a module holds itself."""
        torch = self.originals
        return [(id(p), torch.shape(p)) for _, p in torch.own_parameters(module)]


def ids(parts, sizes):
    """The ids of the parameters of which the first dimension is one of these."""
    return collections.Counter(key for key, shape in parts if shape and shape[0] in sizes)


def is_whole(value):
    """Whether it is a whole number, and no truth value."""
    return type(value) in (int, TracedInt)


def numbers_of_experts(values, least=2):
    """How many experts there are, of values by name: the whole numbers from the least on, each with
    its expression."""
    if values.keys().isdisjoint(NAMES):  # as in almost all modules
        return {}
    numbers = [values[n] for n in NUMBER if is_whole(values.get(n))]
    return {plain(number): number for number in numbers if plain(number) >= least}


def shown(path):
    return path or "the model"
