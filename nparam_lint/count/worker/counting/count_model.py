"""Counts a model that was built."""

from __future__ import annotations

import collections
import contextlib
import re
import types
from operator import add

from ..capabilities import METRICS, WITH_FIELDS, Part
from ..torch_compat import (
    is_initialised,
    own_buffers,
    own_children,
    own_parameters,
    storage_key,
)
from ..tracing.failures import Failure
from ..tracing.project_modules import upwards
from .active_experts import Routing

# The names of embeddings whose entries are no tokens.
OF_PLACES = re.compile("pos|type|segment|wpe", re.IGNORECASE)


class Count:
    """Everything about one model. Identity is `id(parameter)`: on meta every data_ptr is 0.
    `experts`: how many of a mixture a token uses, where that was declared."""

    def __init__(self, torch, model, sources, experts=None):
        self.torch, self.model, self.sources = torch, model, sources
        self.parameters = {}  # id -> [tensor, first name, other names]
        self.buffers = {}  # id -> (tensor, name)
        self.rows = []
        self.first_path = {}  # id(module) -> path
        self.by_id = {}
        self.lines = {}  # path of a module -> the line that made it
        self.again = []  # (path, first path) of modules that stand in more than one place
        self.owners = collections.defaultdict(list)  # id(parameter) -> paths of owning modules
        self.buffer_owners = collections.defaultdict(list)
        self.lazy = []
        self.embedding = set()
        self.walk()
        self.embedding |= self.output_heads()
        modules = {path: self.by_id[key] for key, path in self.first_path.items()}
        # What is lazy has no shape yet, and no count.
        self.routing = Routing(torch, {} if self.lazy else modules, self.owners, experts)

    def walk(self):
        """Every module once, by its first path; a second path of the same module becomes a row that
        points to the first. (Not `named_modules(remove_duplicate=False)`: it never ends where a
        child holds its parent, https://github.com/pytorch/pytorch/issues/47582.)"""
        torch = self.torch
        lazy = torch.nn.parameter.UninitializedTensorMixin
        embedding = (torch.nn.Embedding, torch.nn.EmbeddingBag)
        stack = [("", self.model)]
        while stack:
            path, module = stack.pop()
            if not is_initialised(module):
                raise Failure(
                    "NPL004",
                    "raised",
                    "the constructor of {} never calls super().__init__()".format(
                        type(module).__name__
                    ),
                    hint="call super().__init__() before anything is assigned",
                )
            row = {"path": path, "type": type(module).__name__, "own": 0, "tied": []}
            row["source"] = self.lines[path] = self.sources["modules"].get(id(module))
            self.rows.append(row)
            if id(module) in self.first_path:
                row["shared_with"] = self.first_path[id(module)]
                self.again.append((path, row["shared_with"]))
                continue
            self.first_path[id(module)] = path
            self.by_id[id(module)] = module
            prefix = path + "." if path else ""
            for name, parameter in own_parameters(module):
                if isinstance(parameter, lazy):
                    self.lazy.append(prefix + name)
                    continue
                key = id(parameter)
                self.owners[key].append(path)
                if isinstance(module, embedding):
                    self.embedding.add(key)
                if key in self.parameters:
                    first = self.parameters[key]
                    first[2].append(prefix + name)
                    row["tied"].append("{} = {}".format(name, first[1]))
                else:
                    self.parameters[key] = [parameter, prefix + name, []]
                    row["own"] += parameter.numel()
            for name, buffer in own_buffers(module):
                if isinstance(buffer, lazy):
                    self.lazy.append(prefix + name)
                    continue
                self.buffers[id(buffer)] = buffer, name
                self.buffer_owners[id(buffer)].append(path)
            children = [(prefix + name, child) for name, child in own_children(module)]
            stack.extend(reversed(children))

    def count_rows(self):
        """Fills in, for each row, what lies at or below it; a shared parameter once in each. Gives
        that of the model."""
        nothing = (0,) * len(METRICS)
        below, shared = {}, {}  # what several modules hold counts once above all of them
        for owners, amounts in self.amounts_by_owners().items():
            if len(owners) == 1 and not self.again:
                below[owners[0]] = amounts
                continue
            for path in {above for owner in self.all_paths(owners) for above in upwards(owner)}:
                shared[path] = tuple(map(add, shared.get(path, nothing), amounts))
        for row in reversed(self.rows):  # each after all that lies below it
            path = row["path"]
            if path and path in below:
                above = path.rpartition(".")[0]
                below[above] = tuple(map(add, below.get(above, nothing), below[path]))
        for path, amounts in shared.items():
            below[path] = tuple(map(add, below.get(path, nothing), amounts))
        known = {}  # amounts -> fields of a row; many modules are alike
        for row in self.rows:
            first = row.get("shared_with", row["path"])
            # A module that holds its own ancestor would count it all again.
            inside = first != row["path"] and is_below(row["path"], first)
            amounts = nothing if inside else below.get(first, nothing)
            fields = known.get(amounts)
            if fields is None:
                fields = known[amounts] = row_fields(self.finished(amounts))
            row.update(fields)
        return self.rows[0]

    def amounts_by_owners(self):
        """The paths of the modules that hold the same parameters and buffers -> what these add to
        each metric. Most models have thousands of few kinds, each of which is worked out once."""
        found = {}
        metrics = METRICS.values()
        for tensors, owners, adders in (
            (self.parameters, self.owners, [metric.parameter for metric in metrics]),
            (self.buffers, self.buffer_owners, [metric.buffer for metric in metrics]),
        ):
            known = {}
            for key, (tensor, path, *_) in tensors.items():
                kind = (  # a Part takes longer to make
                    path.rpartition(".")[2],
                    tensor.numel(),
                    tensor.element_size(),
                    tensor.requires_grad,
                    key in self.embedding,
                    self.routing.idle.get(key, 0),
                )
                amounts = known.get(kind)
                if amounts is None:
                    amounts = known[kind] = tuple(adder(Part(*kind)) for adder in adders)
                paths = tuple(owners[key])
                sums = found.get(paths)
                found[paths] = amounts if sums is None else tuple(map(add, sums, amounts))
        return found

    def finished(self, amounts):
        """Name -> the count that a sum makes; None where it is unknown."""
        counts = dict(zip(METRICS, amounts))
        for name, metric in METRICS.items():
            if metric.needs_routing and self.routing.unknown:
                counts[name] = None
            elif metric.finish:
                counts[name] = metric.finish(counts[name])
        return counts

    def output_heads(self):
        """The ids of the weights that turn states back into tokens: published counts without
        embeddings leave them out, tied or not. The model says which (`get_output_embeddings`), or
        they are those of modules directly below the root that have the shape of an embedding, other
        than one of positions or types; a square one must be the last, since a projection of states
        has that shape, too."""
        shapes = {self.parameters[key][0].shape for key in self.embedding}
        with contextlib.suppress(Exception):
            said = dict(own_parameters(self.model.get_output_embeddings()))["weight"]
            if said.shape in shapes:
                return {id(said)}
        shapes = {
            self.parameters[key][0].shape
            for key in self.embedding
            if not OF_PLACES.search(self.parameters[key][1])
        }
        children = [dict(own_parameters(module)) for _, module in own_children(self.model)]
        weights = [parameters.get("weight") for parameters in children if parameters]
        return {
            id(w)
            for w in weights
            if w is not None
            and not self.is_lazy(w)
            and w.shape in shapes
            and (w.shape[0] != w.shape[1] or w is weights[-1])
        }

    def all_paths(self, paths):
        """The owners' paths, and the paths at which a shared module above them stands again."""
        found = list(paths)
        for path, first in self.again:  # in the order of the walk: inner ones before outer ones
            if not is_below(path, first) and any(is_below(p, first) for p in found):
                found.append(path)
        return found

    def parameter_rows(self):
        return [
            {
                "name": name,
                "shape": [int(n) for n in parameter.shape],
                "dtype": dtype_name(parameter),
                "trainable": bool(parameter.requires_grad),
                "source": self.source(parameter, name),
                "also": others,
                "note": self.remarks.get(name),
            }
            for parameter, name, others in self.parameters.values()
        ]

    def remark(self):
        """The names of parameters that hold less than what they count → why."""
        storages, remarks = {}, {}
        for parameter, name, _ in self.parameters.values():
            if not parameter.numel():
                continue
            with contextlib.suppress(Exception):
                first = storages.setdefault(storage_key(parameter), name)
                if first != name:
                    text = "shares its storage with {} (counted twice)"
                    remarks[name] = text.format(first)
            if not parameter.is_contiguous():
                strides = zip(parameter.shape, parameter.stride())
                if any(n > 1 and stride == 0 for n, stride in strides):
                    remarks[name] = "expanded: fewer values are stored than counted"
        return remarks

    def signature(self):
        """What must be the same in two builds: each parameter's name, shape and dtype."""
        return [(n, list(p.shape), dtype_name(p)) for p, n, _ in self.parameters.values()]

    def source(self, parameter, name):
        """The line that made a parameter; for one that was copied, that of the nearest module
        around it whose line is known."""
        found = self.sources["parameters"].get(id(parameter))
        while found is None and name:
            name = name.rpartition(".")[0]
            found = self.lines.get(name)
        return found

    def hidden(self):
        """Parameters and modules in plain attributes, lists and dicts: unseen by parameters()."""
        torch = self.torch
        found, seen = [], set(self.parameters)
        registered = set(self.first_path)
        skip = set(vars(torch.nn.Module()))
        plain = {str, int, float, bool, type(None), types.FunctionType, torch.device, torch.dtype}
        for module_id, path in list(self.first_path.items()):
            module = self.by_id[module_id]
            held = vars(module)
            for name in [name for name in held if name not in skip]:
                value = held[name]
                kind = type(value)
                if kind in plain:
                    continue
                if kind is tuple and plain.issuperset(map(type, value)):  # a kernel's size
                    continue
                tensors = []
                self.search(value, tensors, registered, 0, set())
                if not tensors:
                    continue
                tensors = [t for t in tensors if id(t) not in seen and id(t) not in self.buffers]
                unique = {id(t): t for t in tensors}
                seen.update(unique)
                count = sum(t.numel() for t in unique.values())
                if count:
                    where = (path + "." if path else "") + name
                    source = next(
                        (
                            self.sources["parameters"][i]
                            for i in unique
                            if i in self.sources["parameters"]
                        ),
                        self.sources["modules"].get(module_id),
                    )
                    kind = type(value).__name__
                    found.append({"path": where, "count": count, "what": kind, "source": source})
        overridden = type(self.model).parameters is not torch.nn.Module.parameters
        if overridden:
            with contextlib.suppress(Exception):
                returned = {id(p) for p in self.model.parameters()}
                missing = [p for k, (p, _, _) in self.parameters.items() if k not in returned]
                if missing:
                    count = sum(p.numel() for p in missing)
                    found.append(
                        {
                            "path": "",
                            "count": count,
                            "what": "overridden parameters()",
                            "source": None,
                        }
                    )
        return found

    def search(self, value, found, registered, depth, seen):
        torch = self.torch
        if depth > 4 or id(value) in seen:
            return
        seen.add(id(value))
        if isinstance(value, torch.nn.Module):
            if id(value) not in registered:
                for module in torch.nn.Module.modules(value):
                    found.extend(p for _, p in own_parameters(module) if not self.is_lazy(p))
        elif isinstance(value, torch.Tensor):
            parameter = isinstance(value, torch.nn.Parameter)
            if not self.is_lazy(value) and (parameter or (value.requires_grad and value.is_leaf)):
                found.append(value)
        elif isinstance(value, dict):
            for item in list(value.values())[:10000]:
                self.search(item, found, registered, depth + 1, seen)
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            for item in list(value)[:10000]:
                self.search(item, found, registered, depth + 1, seen)

    def is_lazy(self, tensor):
        return isinstance(tensor, self.torch.nn.parameter.UninitializedTensorMixin)

    def result(self, with_parameters):
        self.count_rows()
        self.remarks = self.remark()
        notes = ["{}: {}".format(name, text) for name, text in self.remarks.items()]
        return {
            "ok": True,
            "type": full_name(self.model),
            "types": sorted({full_name(m) for m in self.by_id.values() if m is not self.model}),
            "no_routing": self.routing.unknown,
            "misdeclared": self.routing.misdeclared,
            "modules": self.rows,
            "hidden": self.hidden(),
            "notes": notes + self.routing.notes,
            "parameters": self.parameter_rows() if with_parameters else [],
        }


def row_fields(counts):
    """Counts as `records.ModuleRow` has them: those without a field there under `more`."""
    more = [(name, count) for name, count in counts.items() if name not in WITH_FIELDS]
    fields = {name: counts[name] for name in WITH_FIELDS}
    fields["embedding"] = fields["total"] - fields.pop("non_embedding")
    del fields["frozen"]
    return dict(fields, more=more) if more else fields


def is_below(path, ancestor):
    """Whether a module path is `ancestor` or lies below it; all lie below the root ""."""
    return not ancestor or path == ancestor or path.startswith(ancestor + ".")


def dtype_name(tensor):
    return str(tensor.dtype).replace("torch.", "")


def full_name(module):
    return "{}.{}".format(type(module).__module__, type(module).__qualname__)
