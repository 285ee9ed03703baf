"""The state that a model may change for those that are built after it in the same process."""

from __future__ import annotations

import collections
import contextlib
import logging
import operator
import os
import random
import re
import sys
import threading
import types

from ..torch_compat import global_hooks, mode_depth
from . import environment

MUTABLE = 1 << 9  # of the flags of a class: it was not made in C (Py_TPFLAGS_HEAPTYPE)
GONE = object()


def process_state():
    """What code may change of the process that it runs in, short of modules and threads."""
    return [os.getcwd(), list(sys.path), environment.contents()]


class StateSnapshot:
    """The state of the project's modules: their names, and all containers, classes and objects
    reachable from them, as they are now. A constructor that changes any of it (a counter, a shared
    config, a default argument) must not be followed by another model in the same process."""

    # Python itself writes these on access.
    LATE = frozenset(("__annotations__", "__annotations_cache__", "__doc__"))

    def __init__(self, torch, lenient=False):
        self.lenient = lenient
        self.names = set()
        plain = (type(None), bool, int, float, complex, str, bytes, range, types.CodeType)
        plain += (types.ModuleType, types.BuiltinFunctionType, re.Pattern, logging.Logger)
        self.plain = (*plain, torch.Tensor, torch.dtype, torch.device, threading.Thread)
        self.found = []  # (what holds something, how to read it, what it held, whose it is)
        # What compares by what it holds, what it held, whose it is: all compared at once.
        self.holders, self.helds, self.owners = [], [], []
        self.opaque = False  # whether something has a state that cannot be seen
        self.seen = set()

    def add(self, owner, module):
        """Add what a module holds, unless another module holds it too."""
        self.owner = owner
        self.names.add(module.__name__)
        self.note(vars(module))
        self.todo = [v for k, v in vars(module).items() if not k.startswith("__")]
        while self.todo:
            value = self.todo.pop()
            if not isinstance(value, self.plain) and id(value) not in self.seen:
                self.seen.add(id(value))
                try:
                    self.look(value)
                except Exception:  # its class has its own idea of an attribute, or of a copy
                    self.opaque = True

    def note(self, holder, held=None):
        self.holders.append(holder)
        self.helds.append(dict(holder) if held is None else held)
        self.owners.append(self.owner)

    def keep(self, holder, read):
        self.found.append((holder, read, read(holder), self.owner))

    def look(self, value):
        if isinstance(value, type):
            if value.__module__ in self.names:
                self.note(vars(value))
                self.todo += vars(value).values()
            else:  # perhaps that of a module that is still to be added
                self.seen.discard(id(value))
        elif isinstance(value, types.FunctionType):
            self.look_at_function(value)
        elif isinstance(value, (classmethod, staticmethod, types.MethodType)):
            self.todo.append(value.__func__)
        elif isinstance(value, property):
            self.todo += [value.fget, value.fset]
        elif isinstance(value, dict):  # what it really has: transformers has lazy ones
            self.note(value, dict.copy(value))
            self.todo += dict.values(value)
        elif isinstance(value, list):
            self.note(value, list.copy(value))
            self.todo += list.copy(value)
        elif isinstance(value, (collections.deque, bytearray, set)):
            self.keep(value, list)
            self.todo += value
        elif isinstance(value, (tuple, frozenset)):
            self.todo += value
        elif hasattr(type(value), "cache_info"):
            self.keep(value, lambda function: function.cache_info().currsize)
            self.todo.append(getattr(value, "__wrapped__", None))
        elif self.is_opaque(type(value)):
            self.opaque = True
        else:
            self.look_at_instance(value)

    @staticmethod
    def is_opaque(kind):
        """Iterators and generators of random numbers do not show where they are."""
        random_numbers = issubclass(kind, random.Random) or "numpy.random" in kind.__module__
        return hasattr(kind, "__next__") or random_numbers or kind.__name__ == "Generator"

    def look_at_function(self, function):
        if function.__module__ not in self.names:
            self.seen.discard(id(function))
            return
        for held in (function.__kwdefaults__, function.__dict__):
            if held is not None:
                self.note(held)
                self.todo += held.values()
        self.todo += function.__defaults__ or ()
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            with contextlib.suppress(ValueError):  # it is empty
                self.todo.append(cell.cell_contents)
                if name != "__class__":  # that of `super()`, in every constructor
                    self.keep(cell, lambda cell: [cell.cell_contents])

    def look_at_instance(self, value):
        held = getattr(value, "__dict__", None)
        if isinstance(held, dict):
            self.note(held)
            self.todo += held.values()
        kinds = [kind for kind in type(value).__mro__ if "__slots__" in vars(kind)]
        names = [n for kind in kinds for n in vars(kind)["__slots__"] if n not in ("__dict__",)]
        if names and type(value).__module__ in self.names:
            self.keep(value, lambda value: [getattr(value, name, None) for name in names])
            self.todo += [getattr(value, name, None) for name in names]

    def changed(self):
        return self.opaque or bool(self.changed_by_others())

    def changed_by_others(self):
        """The owners of values that have changed; the current values become the new reference."""
        owners = set()
        same = False
        with contextlib.suppress(Exception):
            same = self.holders == self.helds
        for number, holder in enumerate(() if same else self.holders):
            held, changed = self.helds[number], True
            with contextlib.suppress(Exception):
                if holder == held:
                    continue
                changed = self.differs(holder, held)
            if changed:
                owners.add(self.owners[number])
            is_dict = isinstance(holder, dict)
            self.helds[number] = dict.copy(holder) if is_dict else type(held)(holder)
        for number, (holder, read, held, owner) in enumerate(self.found):
            with contextlib.suppress(Exception):
                now = read(holder)
                if now == held:
                    continue
                self.found[number] = holder, read, now, owner
            owners.add(owner)
        return owners

    def differs(self, now, held):
        if now == held:  # what is the very same is not looked into
            return False
        if isinstance(now, list):
            return True
        keys = (now.keys() | held.keys()) - self.LATE
        changed = [key for key in keys if now.get(key, held) is not held.get(key, now)]
        if self.lenient:  # a package gets its submodules as they are imported
            return any(k in held or not isinstance(now[k], types.ModuleType) for k in changed)
        return bool(changed)


# Libraries that models are built with, and so is what they read. What people change of others
# (`warnings.warn`, `sys.excepthook`) changes no count.
LIBRARIES = (
    "argparse ast base64 builtins collections configparser contextlib copy csv dataclasses enum"
    " fractions functools glob hashlib inspect io itertools json json.decoder json.encoder"
    " json.scanner math numpy numpy.random operator os os.path pathlib platform random re string"
    " struct textwrap types zlib"
).split()
# Methods that make the parts of a layer, and what of them can be changed in place.
MAKERS = ("__init__", "__setattr__", "register_parameter", "register_buffer", "add_module")
FUNCTION = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")


class ProcessSnapshot:
    """What project code may change for all that comes after it in the same process: the functions,
    classes and constants of torch and of `LIBRARIES`, which modules go by their names, and torch's
    defaults and hooks; and, where `modules` of the project are given, the interpreter's own state
    and all that these modules hold."""

    def __init__(self, torch, modules=None):
        self.torch, self.process = torch, modules is not None
        layers = [name for name in sys.modules if f"{name}.".startswith("torch.nn.")]
        spaces = {name: sys.modules[name] for name in (*layers, *LIBRARIES) if name in sys.modules}
        values = {id(v): v for space in spaces.values() for v in vars(space).values()}.values()
        classes = [v for v in values if isinstance(v, type) and v.__flags__ & MUTABLE]
        # Python 3.13 has pathlib's classes in `pathlib._local`.
        classes = [k for k in classes if k.__module__.removesuffix("._local") in spaces]
        self.namespaces = [torch, torch.Tensor, *spaces.values(), *classes]
        self.views = [*map(vars, self.namespaces)]  # as they are at any time
        own = [vars(kind).get(name) for kind in classes for name in MAKERS]
        self.functions = [value for value in own if isinstance(value, types.FunctionType)]
        self.held = StateSnapshot(torch) if self.process else None
        for module in modules or ():
            self.held.add("", module)
        self.begin()

    def begin(self):
        """Changes until now (by importing more of torch, by forking) are nobody's fault; the state
        of the project's modules must still be as it was at first."""
        self.whole = [*map(dict, self.views)]
        self.modules = dict(sys.modules)
        self.state = self.look()

    def look(self):
        process = [*process_state(), list(sys.meta_path), threading.active_count()]
        return [self.look_at_torch(), process if self.process else []]

    def look_at_torch(self):
        torch = self.torch
        state = [torch.get_default_dtype(), mode_depth(torch)]
        state.append([*map(dict, global_hooks(torch))])
        state.append([*map(FUNCTION, self.functions)])
        state += [torch.__version__, torch.cuda.is_available, torch.cuda.device_count]
        state += [sys.platform, sys.version_info, sys.maxsize, sys.gettrace(), sys.getprofile()]
        if hasattr(torch, "get_default_device"):
            state.append(torch.get_default_device())
        return state

    @staticmethod
    def replaced(name, module):
        """Whether another module has the name; transformers replaces itself by itself."""
        now = sys.modules.get(name)
        if now is module:
            return False
        file = getattr(module, "__file__", None)
        return file is None or getattr(now, "__file__", None) != file

    @staticmethod
    def is_patch(space, name, before, now):
        """Whether a name was given to something else. torch replaces some of its own when it
        imports dynamo, modules get submodules, and keep in names that begin with `_` what they have
        found out; Python itself writes some names of classes on access. A name that was there in
        other capitals is as it was: torchmetrics, and so Lightning, sets `numpy.Inf`."""
        if isinstance(now, types.ModuleType):
            return isinstance(before, types.ModuleType)
        if before is GONE and getattr(space, name.lower(), GONE) is now and name != name.lower():
            return False
        if str(getattr(now, "__module__", "")).startswith("torch"):
            return False
        if isinstance(space, type):
            return name not in StateSnapshot.LATE
        return callable(before) or not name.startswith("_")

    def is_patched(self):
        """Whether a namespace has changed; its current state becomes the new reference."""
        with contextlib.suppress(Exception):  # an array has its own idea of what is equal
            if self.views == self.whole:  # what is the very same is not looked into
                return False
        whole, self.whole = self.whole, [*map(dict, self.views)]
        return any(
            self.is_patch(space, name, before.get(name, GONE), now.get(name))
            for space, before, now in zip(self.namespaces, whole, self.whole)
            for name in before.keys() | now.keys()
            if now.get(name, GONE) is not before.get(name, GONE)
        )

    def torch_changed(self):
        """Whether what models are built with is no longer what it was."""
        return self.is_patched() or self.look_at_torch() != self.state[0]

    def changed(self):
        return self.is_patched() or self.state_changed()

    def state_changed(self):
        """Whether anything but the namespaces has changed."""
        state, self.state = self.state, self.look()
        if self.state != state:
            return True
        if self.modules != sys.modules:
            if any(self.replaced(name, module) for name, module in self.modules.items()):
                return True
            self.modules = dict(sys.modules)
        return self.process and self.held.changed()
