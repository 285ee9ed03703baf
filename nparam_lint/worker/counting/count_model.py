"""Counts a model that was built."""

from __future__ import annotations

import collections
import contextlib
import re
from math import prod
from operator import add

from ...ground.metrics import COUNTED, METRICS, WITH_FIELDS, Part
from ..state import STATE
from ..symbolic.recorder import resumed
from ..symbolic.shapes import traced_shape
from ..tracing.failures import Failure
from ..tracing.origin_lines import line_of_site
from ..tracing.project_paths import is_below, upwards
from .active_experts import Routing
from .count_lines import line_rows
from .hidden_parameters import HiddenParameters

# The names of embeddings whose entries are not tokens.
OF_PLACES = re.compile("pos|type|segment|wpe", re.IGNORECASE)
DTYPE_FIELDS = ("parameters", "trainable", "tensors", "buffers", "saved")
WITHOUT_DECISIONS = ("total", "trainable", "frozen", "buffers", "bytes")  # in counting them


class TensorEntry:
    """A parameter or buffer: its first name in the model, the others, and the paths of the modules
    that hold it."""

    __slots__ = ("also", "dtype", "name", "owners", "shape", "size", "tensor", "trains", "width")

    def __init__(self, torch, tensor, name):
        self.tensor, self.name, self.also, self.owners = tensor, name, [], []
        self.shape, self.dtype = torch.shape(tensor), torch.dtype(tensor)
        self.size = prod(self.shape)
        self.width = torch.element_size(tensor)  # bytes of an element
        self.trains = torch.requires_grad(tensor)


def lengths(entry):
    """Its shape, with expressions while a constructor is traced."""
    return traced_shape(entry.tensor, entry.shape)


class Count:
    """Everything about one model. Identity is `id(parameter)`: on meta every data_ptr is 0.
    `experts`: how many of a mixture a token uses, where that was declared; `metric`: the one whose
    decisions are noted, where a constructor is traced."""

    def __init__(self, originals, model, origins, experts=None, metric="total"):
        self.originals, self.model, self.origins = originals, model, origins
        self.parameters, self.buffers = {}, {}  # id -> TensorEntry
        self.rows = []
        self.modules = {}  # first path -> module
        self.first_path = {}  # id(module) -> path
        self.again = []  # (path, first path) of modules that stand in more than one place
        self.lazy = []
        self.embedding = set()
        self.saved = set()  # ids of the buffers that a checkpoint has
        with originals.plain():
            self.walk()
            routes = METRICS[metric].needs_routing
            with resumed(STATE.trace, metric not in WITHOUT_DECISIONS and not routes):
                self.embedding |= self.output_heads()
            # What is lazy has no shape yet, and no count.
            modules = {} if self.lazy else self.modules
            with resumed(STATE.trace, routes):
                self.routing = Routing(originals, modules, self.parameters, experts)

    def walk(self):
        """Every module once, by its first path; a second path of the same module becomes a row that
        points to the first. (Not `named_modules(remove_duplicate=False)`: it never ends where a
        child holds its parent, https://github.com/pytorch/pytorch/issues/47582.)"""
        torch = self.originals
        stack = [("", self.model)]
        while stack:
            path, module = stack.pop()
            module = torch.compiled(module)
            attributes = torch.attributes(module)
            kind = torch.name(module)
            if "_parameters" not in attributes:
                text = "the constructor of {} never calls super().__init__()".format(kind)
                hint = "call super().__init__() before anything is assigned"
                raise Failure("NPL004", "raised", text, hint=hint)
            row = {"path": path, "type": kind, "own": 0}
            source = self.origins.line(module)
            if source is not None:
                row["source"] = source
            self.rows.append(row)
            first = self.first_path.setdefault(id(module), path)
            if first != path:
                row["shared_with"] = first
                self.again.append((path, first))
                continue
            self.modules[path] = module
            prefix = path + "." if path else ""
            parameters = torch.entries(attributes, "_parameters")
            for name, parameter in parameters:
                if torch.is_lazy(parameter):
                    self.lazy.append(prefix + name)
                    continue
                key = id(parameter)
                entry = self.parameters.get(key)
                if entry is None:
                    entry = self.parameters[key] = TensorEntry(torch, parameter, prefix + name)
                    row["own"] += entry.size
                else:
                    entry.also.append(prefix + name)
                    row.setdefault("tied", []).append("{} = {}".format(name, entry.name))
                entry.owners.append(path)
            if parameters and torch.is_a(module, torch.embeddings):
                self.embedding |= {id(weight) for _, weight in parameters} & self.parameters.keys()
            for name, buffer in torch.entries(attributes, "_buffers") + torch.packed(attributes):
                if torch.is_lazy(buffer):
                    self.lazy.append(prefix + name)
                    continue
                if id(buffer) not in self.buffers:
                    self.buffers[id(buffer)] = TensorEntry(torch, buffer, prefix + name)
                if name not in (attributes.get("_non_persistent_buffers_set") or ()):
                    self.saved.add(id(buffer))
                self.buffers[id(buffer)].owners.append(path)
            children = torch.entries(attributes, "_modules")
            stack += [(prefix + name, child) for name, child in reversed(children)]

    def count_rows(self):
        """Fills in, for each row, what lies at or below it; a shared parameter once in each. Gives
        that of the model."""
        nothing = (0,) * len(COUNTED)
        below = {}
        for owners, amounts in self.amounts_by_owners().items():
            for path in {above for owner in self.all_paths(owners) for above in upwards(owner)}:
                below[path] = tuple(map(add, below.get(path, nothing), amounts))
        fields = {}  # amounts -> fields of a row; many modules are alike
        for row in self.rows:
            first = row.get("shared_with", row["path"])
            # A module that holds its own ancestor would count it all again.
            inside = first != row["path"] and is_below(row["path"], first)
            amounts = nothing if inside else below.get(first, nothing)
            if amounts not in fields:
                fields[amounts] = self.row_fields(amounts)
            row.update(fields[amounts])
        return self.rows[0]

    def amounts_by_owners(self):
        """The paths of the modules that hold the same parameters and buffers -> what these add to
        each metric."""
        sums = {}
        metrics = COUNTED.values()
        for tensors, adders in (
            (self.parameters, [metric.parameter for metric in metrics]),
            (self.buffers, [metric.buffer for metric in metrics]),
        ):
            for key, entry in tensors.items():
                part, paths = self.part(key, entry, entry.size), tuple(entry.owners)
                amounts = tuple(adder(part) for adder in adders)
                sums[paths] = tuple(map(add, sums[paths], amounts)) if paths in sums else amounts
        return sums

    def part(self, key, entry, size):
        name, idle = entry.name.rpartition(".")[2], self.routing.idle.get(key, 0)
        return Part(name, size, entry.width, entry.trains, key in self.embedding, idle)

    def weighed(self, name):
        """(id, entry, what a metric counts of one element) of the parameters and buffers of which
        it counts anything."""
        metric = METRICS[name]
        kinds = ((self.parameters, metric.parameter), (self.buffers, metric.buffer))
        for tensors, adder in kinds:
            for key, entry in tensors.items():
                amount = adder(self.part(key, entry, 1))
                if amount:
                    yield key, entry, amount

    def row_fields(self, amounts):
        """The counts that sums make, as `measured.ModuleRow` has them: those without a field there
        under `more`. None where one is unknown."""
        counts = dict(zip(COUNTED, amounts))
        for name, metric in COUNTED.items():
            if metric.needs_routing and self.routing.unknown:
                counts[name] = None
            elif metric.finish:
                counts[name] = metric.finish(counts[name])
        more = [(name, count) for name, count in counts.items() if name not in WITH_FIELDS]
        fields = {name: counts[name] for name in WITH_FIELDS if name in counts}
        fields["embedding"] = fields["total"] - fields.pop("non_embedding")
        return dict(fields, more=more) if more else fields

    def output_heads(self):
        """The ids of the weights that turn states back into tokens: published counts without
        embeddings leave them out, tied or not. The model says which (`get_output_embeddings`), or
        they are those of modules directly below the root that have the shape of an embedding, other
        than one of positions or types; a square one must be the last, since a projection of states
        has that shape, too."""
        torch = self.originals
        embeddings = [self.parameters[key] for key in self.embedding]
        with contextlib.suppress(Exception):
            weight = dict(torch.own_parameters(self.model.get_output_embeddings()))["weight"]
            shape = traced_shape(weight, torch.shape(weight))
            if any(shape == lengths(embedding) for embedding in embeddings):
                return {id(weight)}
        shapes = [lengths(e) for e in embeddings if not OF_PLACES.search(e.name)]
        children = torch.own_children(torch.compiled(self.model))
        keys = [id(dict(torch.own_parameters(module)).get("weight")) for _, module in children]
        keys = [key for key in keys if key in self.parameters and key not in self.embedding]
        weights = [self.parameters[key] for key in keys]
        return {
            id(w.tensor)
            for w in weights
            if (shape := lengths(w)) in shapes and (w is weights[-1] or shape[0] != shape[1])
        }

    def all_paths(self, paths):
        """The owners' paths, and the paths at which a shared module above them stands again."""
        paths = list(paths)
        for path, first in self.again:  # in the order of the walk: inner ones before outer ones
            if not is_below(path, first) and any(is_below(p, first) for p in paths):
                paths.append(path)
        return paths

    def parameter_rows(self, metric="total"):
        return [
            {
                "name": entry.name,
                "shape": [int(n) for n in entry.shape],
                "dtype": self.originals.dtype_name(entry.dtype),
                "trainable": entry.trains,
                "source": line_of_site(self.site(entry)),
                "also": entry.also,
                "note": self.remarks.get(entry.name),
            }
            for _, entry, _ in self.weighed(metric)
        ]

    def dtype_rows(self):
        """The bytes of each dtype, as `measured.DtypeRow` has them."""
        rows = collections.defaultdict(lambda: dict.fromkeys(DTYPE_FIELDS, 0))
        for kind, tensors in (("parameters", self.parameters), ("buffers", self.buffers)):
            for key, entry in tensors.items():
                row, size = rows[entry.dtype], entry.size * entry.width
                row[kind] += size
                if kind == "parameters" and entry.trains:
                    row["trainable"] += size
                    row["tensors"] += 1
                if kind == "parameters" or key in self.saved:
                    row["saved"] += size
        return [dict(row, dtype=self.originals.dtype_name(dtype)) for dtype, row in rows.items()]

    def remark(self):
        """The names of parameters that hold less than what they count → why."""
        storages, remarks, torch = {}, {}, self.originals
        for entry in self.parameters.values():
            name, parameter = entry.name, entry.tensor
            if not entry.size:
                continue
            with contextlib.suppress(Exception):
                first = storages.setdefault(torch.storage_key(parameter), name)
                if first != name:
                    remarks[name] = "shares its storage with {} (counted twice)".format(first)
            if torch.layout(parameter) != torch.strided:
                text = "{}: counted by its shape, whatever is stored of it"
                remarks[name] = text.format(torch.dtype_name(torch.layout(parameter)))
            elif not torch.is_contiguous(parameter):
                strides = zip(entry.shape, torch.stride(parameter))
                if any(n > 1 and stride == 0 for n, stride in strides):
                    remarks[name] = "expanded: fewer values are stored than counted"
        return remarks

    def signature(self):
        """What must be the same in two builds: each parameter's name, shape and dtype."""
        return [
            (entry.name, list(entry.shape), self.originals.dtype_name(entry.dtype))
            for entry in self.parameters.values()
        ]

    def site(self, entry):
        """The calls that made a parameter; for one that was put there in another way, those of the
        nearest module around it of which they are known."""
        sites = self.origins.sites
        site = sites.get(id(entry.tensor))
        for path in () if site else upwards(entry.owners[0]):
            site = site or sites.get(id(self.modules.get(path)))
        return site or ()

    def origin(self, entry):
        """The line that made a parameter, and the type of the module that holds it."""
        holder = self.modules[entry.owners[0]]
        return "{} {}".format(line_of_site(self.site(entry)), self.originals.name(holder))

    def result(self, with_parameters, metric="total"):
        """`metric`: the parameters are those that it counts, with what it counts of each."""
        with self.originals.plain():
            self.count_rows()
            self.remarks = self.remark()
            full_name = self.originals.full_name
            notes = ["{}: {}".format(name, text) for name, text in self.remarks.items()]
            hidden = HiddenParameters(self)
            return {
                "ok": True,
                "type": full_name(self.modules[""]),
                "types": sorted({full_name(m) for p, m in self.modules.items() if p}),
                "no_routing": self.routing.unknown,
                "misdeclared": self.routing.misdeclared,
                "modules": self.rows,
                "dtypes": self.dtype_rows(),
                "hidden": hidden.rows,
                "notes": notes + hidden.notes + self.routing.notes,
                "parameters": self.parameter_rows(metric) if with_parameters else [],
                "lines": line_rows(self),
                "weights": [] if metric == "total" else [str(w) for *_, w in self.weighed(metric)],
            }
