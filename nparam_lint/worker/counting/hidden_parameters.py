"""Parameters that a model keeps where its `parameters()` does not look.

They are looked for as the garbage collector looks for what is in use: each type says in C which
objects one of its objects refers to. So nothing of the project runs, whatever its classes override,
and a list, a partial, a closure, a dataclass and slots are all alike."""

import contextlib
import sys
from collections import OrderedDict
from gc import get_referents, is_tracked
from itertools import islice
from types import FrameType, FunctionType, ModuleType

from ..state import STATE
from ..tracing.project_paths import is_installed

MOST_OBJECTS = 200_000  # of which a model's attributes are searched: a data set has millions
# What Lightning's `save_hyperparameters` keeps: the arguments, and a deep copy of them.
HYPERPARAMETERS = frozenset({"_hparams", "_hparams_initial"})
REGISTERS = frozenset({"_parameters", "_buffers", "_modules"})
NOT_OF_A_MODEL = (ModuleType, FrameType)
# What a class has and inherits: a metaclass may answer these names otherwise.
NAME, NAMESPACE, LINEAGE = (
    vars(type)[name].__get__ for name in ("__name__", "__dict__", "__mro__")
)


class HiddenParameters:
    """Of a counted model: `rows`, as `measured.Hidden` has them, and `notes`."""

    def __init__(self, count):
        self.count, self.torch = count, count.originals
        # What is in the model already, and the worker's own notes, which hold all that was made.
        notes = (STATE, count, count.origins, count.originals, *vars(STATE).values())
        self.visited = {*count.parameters, *count.buffers, *count.first_path, *map(id, notes)}
        self.allowance = MOST_OBJECTS
        # torch's notes on what it traced or exported have the weights from before.
        graph = getattr(sys.modules.get("torch.fx.graph"), "Graph", FrameType)
        self.closed = (*NOT_OF_A_MODEL, graph)
        self.rows = [
            self.row(path, name, value, hidden)
            for path, module in count.modules.items()
            for name, value in self.attributes(module)
            if (hidden := self.below(value))
        ]
        self.rows += self.not_returned()
        text = "hidden parameters were looked for in {:,} objects that it holds, not in the rest"
        self.notes = [] if self.allowance else [text.format(MOST_OBJECTS)]

    def attributes(self, module):
        """(name, value) of what a module and its classes have, but for what is registered."""
        skipped = REGISTERS | HYPERPARAMETERS
        for name, value in dict.items(self.torch.attributes(module)):
            is_empty = type(value) is OrderedDict and not value  # as most of ten kinds of hooks
            if is_tracked(value) and name not in skipped and not is_empty:
                yield name, value
        for kind in LINEAGE(type(module)):
            if id(kind) not in self.visited:
                self.visited.add(id(kind))
                yield from self.members(kind)

    def below(self, value):
        """The parameters, and tensors that are trained like parameters, that are reached from a
        value and from nothing before it."""
        hidden, pending = [], [value]
        while pending and self.allowance:
            value = pending.pop()
            if id(value) in self.visited:
                continue
            self.visited.add(id(value))
            self.allowance -= 1
            if not issubclass(type(value), self.torch.Tensor):
                pending += [*filter(is_tracked, self.parts(value))][::-1]
            elif not self.torch.is_trained(value):
                pending += self.torch.computed_from(value)
            elif self.torch.size(value):
                hidden.append(value)
        return hidden

    def parts(self, value):
        """The objects that an object holds."""
        kind = type(value)
        if kind is FunctionType:  # not its globals: they are the file's
            return value.__closure__, value.__defaults__, value.__kwdefaults__, value.__dict__
        if issubclass(kind, type):
            return [part for base in LINEAGE(value) for _, part in self.members(base)]
        if issubclass(kind, self.closed):
            return ()
        if issubclass(kind, self.torch.Module) and self.torch.compiled_name(value):
            return [*get_referents(value), *self.torch.parameters_below(value)]
        return get_referents(value)

    @staticmethod
    def members(kind):
        """(name, value) of what a class itself has, unless it is a package's: that is long."""
        namespace = NAMESPACE(kind)
        if not is_tracked(kind) or is_installed(str(namespace.get("__module__"))):
            return
        for name, value in namespace.items():
            if is_tracked(value) and name != "__annotations__":
                yield name, value

    def row(self, path, name, value, hidden):
        lines = map(self.count.origins.line, [*hidden, self.count.modules[path]])
        return {
            "path": (path + "." if path else "") + name,
            "count": sum(map(self.torch.size, hidden)),
            "what": NAME(type(value)),
            "source": next(filter(None, lines), None),
        }

    def not_returned(self):
        """What is registered, but left out by a `parameters()` of the model itself, or where it
        compares modules or parameters that are equal."""
        count, torch = self.count, self.torch
        kinds = {type(module) for module in count.modules.values()}
        values = kinds.union(type(entry.tensor) for entry in count.parameters.values())
        with contextlib.suppress(Exception, SystemExit):  # a metaclass may raise
            what = [
                f"overridden {name}()"
                for name, walk in torch.walks.items()
                if any(getattr(kind, name, None) is not walk for kind in kinds)
            ]
            if any(
                kind.__hash__ not in (object.__hash__, torch.Tensor.__hash__) for kind in values
            ):
                what.append("modules or parameters that are equal to others")
            if what:
                most = 2 * len(count.parameters)  # it may not end
                returned = {id(p) for p in islice(count.model.parameters(), most)}
                lost = [entry for key, entry in count.parameters.items() if key not in returned]
                size = sum(entry.size for entry in lost)
                if lost:
                    return [{"path": "", "count": size, "what": what[0], "source": None}]
        return []
