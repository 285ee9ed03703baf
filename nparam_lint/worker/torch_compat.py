"""The private parts of torch that the worker uses, each with the reason; no other file touches any.

Where torch changes one of them, this is the file to change.
"""

import builtins
import collections
import contextlib
import functools
import importlib
import re
import sys
import types
import weakref
from math import prod


def tensor_makers():
    """The functions that make a tensor on the device that is asked for (`torch.empty`, …). torch
    keeps the one list of them, for its own `with torch.device(…)`:
    https://github.com/pytorch/pytorch/pull/91525
    """
    from torch.utils._device import _device_constructors

    return _device_constructors()


def default_device():
    """That of `torch.set_default_device`; None where there is none. The public function makes a
    tensor there to tell its number."""
    from torch.utils import _device

    return _device.CURRENT_DEVICE


def number_devices(torch):
    """Let `module.to(0)` be taken for `module.to("cuda:0")` where there is no GPU, which torch asks
    what kind of device it has."""
    parse = torch._C._nn._parse_to

    def device_of(value):
        return torch.device("cuda", value) if type(value) is int else value

    @functools.wraps(parse)
    def parse_to(*args, **kwargs):
        try:
            return parse(*args, **kwargs)
        except RuntimeError:
            return parse(*map(device_of, args), **{key: device_of(v) for key, v in kwargs.items()})

    torch._C._nn._parse_to = parse_to


def check_fan(torch, tensor):
    """Raise ValueError where Xavier's and Kaiming's initialisers would: for a tensor of fewer than
    two dimensions. They are not run (patching `torch.nn.init` is what torch advises to those who
    skip it, https://github.com/pytorch/pytorch/issues/29523), but a wrong model is to stay wrong.
    """
    torch.nn.init._calculate_fan_in_and_fan_out(tensor)


def unseen(torch):
    """What makes a context in which no mode of torch sees what is asked of a tensor: to pass a
    question through a mode, which is Python, takes longer than to answer it. There is no public
    one: https://pytorch.org/docs/stable/notes/extending.html
    """
    return torch._C.DisableTorchFunction


def tracing_test(torch):
    """`torch.jit.is_tracing`, which asks something else first; this is called for every tensor."""
    return torch._C._is_tracing


def wrap_file_writer(torch, check):
    """Call `check(target)` before torch.save writes a file. It opens the file in C++
    (https://github.com/pytorch/pytorch/blob/v2.1.0/caffe2/serialize/inline_container.cc), which
    raises no audit event that a hook of Python would see.
    """
    writer = torch._C.PyTorchFileWriter

    def checked_writer(target, *args, **kwargs):
        check(target)
        return writer(target, *args, **kwargs)

    torch._C.PyTorchFileWriter = checked_writer


def wrap_file_readers(torch, note):
    """Call `note(file, is_shared)` before torch opens a file in C++, as above: to map it, or to
    read an archive. `is_shared`: what is written to the tensor would go to the file.
    (`torch.jit.load` asks first whether the file is there, which is seen.)"""
    reader = torch._C.PyTorchFileReader

    def noting(map_file):
        @functools.wraps(map_file)
        def from_file(filename, shared=False, *args, **kwargs):
            note(filename, shared)
            return map_file(filename, shared, *args, **kwargs)

        return from_file

    class Reader(reader):
        def __init__(self, source, *args, **kwargs):
            note(source, False)
            super().__init__(source, *args, **kwargs)

    torch.from_file = noting(torch.from_file)
    torch.UntypedStorage.from_file = staticmethod(noting(torch.UntypedStorage.from_file))
    torch._C.PyTorchFileReader = Reader  # a class: torch.package asks what is one


_COMPILER = "torch._dynamo"
# Where torch imports it to say what the compiler must leave alone.
_DISABLERS = ("torch._compile", "torch.compiler")
# What packages import of it and only call while a model runs: torchvision, transformers.
_CALLED = {"is_compile_supported", "TransformGetItemToIndex"}


class DeferredCompiler:
    """`torch._dynamo` until something is asked of it that only itself can answer. It has 800
    modules, and to import them takes 0.6 s, longer than timm itself. torchvision, timm and
    transformers do when they are imported, and torch before its first `torch.cat` on meta
    (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_compile.py): to mark functions for it,
    or to have what they call while a model runs. To build a model none of them needs it."""

    def __getattr__(self, name):
        return getattr(compiler(), name)

    # A compiler that comes later does not know of these marks, and looks into the functions.

    def disable(self, fn=None, *args, **kwargs):
        if fn is None:
            return lambda fn: self.disable(fn, *args, **kwargs)
        return fn if can_wait(fn) else compiler().disable(fn, *args, **kwargs)

    def allow_in_graph(self, fn):
        return fn if can_wait(fn) else compiler().allow_in_graph(fn)

    def assume_constant_result(self, fn):
        return fn if can_wait(fn) else compiler().assume_constant_result(fn)


def compiler():
    return importlib.import_module(_COMPILER)


def can_wait(marked):
    """Whether it is a function, and the compiler is not there yet."""
    return isinstance(marked, types.FunctionType) and _COMPILER not in sys.modules


def call_later(module, name, *args, **kwargs):
    return getattr(importlib.import_module(module), name)(*args, **kwargs)


def defer_compiler(torch):
    """Let torch's compiler be imported when it is needed, and not before."""
    if _COMPILER in sys.modules:
        return
    imports = builtins.__import__
    torch._dynamo = DeferredCompiler()

    def deferring_import(name, globals=None, locals=None, fromlist=(), level=0):
        if name.startswith(_COMPILER) and not level and _COMPILER not in sys.modules:
            if not fromlist and globals and globals.get("__name__") in _DISABLERS:
                return torch
            if fromlist and _CALLED.issuperset(fromlist):
                later = {item: functools.partial(call_later, name, item) for item in fromlist}
                return types.SimpleNamespace(**later)
        return imports(name, globals, locals, fromlist, level)

    builtins.__import__ = deferring_import


def wrap_construction(torch, note, note_copy):
    """Call `note(module)` where a module is made, and `note_copy(module)` where one is given the
    state of another. torch has hooks for what a module registers, none for how it is made."""
    kind = torch.nn.Module
    make, restore = kind.__init__, kind.__setstate__

    @functools.wraps(make)
    def __init__(self, *args, **kwargs):
        note(self)
        make(self, *args, **kwargs)

    @functools.wraps(restore)
    def __setstate__(self, state):
        restore(self, state)
        note_copy(self)

    kind.__init__, kind.__setstate__ = __init__, __setstate__


# Of a class that was compiled: `__torch__.nets.___torch_mangle_3.Net`.
PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_COMPILED = re.compile(r"^__torch__\.|___torch_mangle_\d+\.")


MOST_NODES = 1000  # of autograd's that are looked at


class Originals:
    """The functions of torch that counting needs, as they were before any code of the project ran:
    a replacement (`torch.Tensor.numel = …`) has no effect on counts.

    Tensors are read with the functions of their base class in C, which cannot be changed, and under
    `plain`, where what a subclass makes of them is not asked.

    A module's own parts are read from the dictionaries in which torch registers them. The methods
    (`named_parameters(recurse=False)`, `named_children()`) leave out what appears twice, and models
    override them: https://github.com/pytorch/pytorch/pull/98880 advises the same."""

    def __init__(self, torch):
        nn, base = torch.nn, vars(torch.Tensor.__base__)
        self.Tensor, self.Module, self.Parameter = torch.Tensor, nn.Module, nn.Parameter
        self.Lazy = nn.parameter.UninitializedTensorMixin
        self.Dropout = nn.Dropout
        self.embeddings = (nn.Embedding, nn.EmbeddingBag)
        self.layers = vars(nn)
        self.lists = (nn.ModuleList, nn.Sequential, nn.ModuleDict)
        self.containers = (*self.lists, nn.ParameterList, nn.ParameterDict)
        self.Script, self.ScriptObject = torch._C.ScriptModule, torch._C.ScriptObject
        walks = ("parameters", "named_parameters", "named_modules", "_named_members")
        self.walks = {name: getattr(nn.Module, name, None) for name in walks}
        self.strided = torch.strided
        self.plain = torch._C.DisableTorchFunctionSubclass
        self.attributes = vars(nn.Module)["__dict__"].__get__
        self.lengths, self.number = base["shape"].__get__, base["numel"]
        self.is_nested, self.layout = base["is_nested"].__get__, base["layout"].__get__
        self.dtype, self.requires_grad = base["dtype"].__get__, base["requires_grad"].__get__
        self.tensor_attributes = vars(torch.Tensor)["__dict__"].__get__
        self.is_leaf = base["is_leaf"].__get__
        self.element_size, self.stride = base["element_size"], base["stride"]
        self.is_contiguous, self.untyped_storage = base["is_contiguous"], base["untyped_storage"]
        self.grad_fn = base["grad_fn"].__get__

    def shape(self, tensor):
        """Its lengths; those of the tensors in a nested one differ, so that it counts as a row."""
        return (self.number(tensor),) if self.is_nested(tensor) else self.lengths(tensor)

    def size(self, tensor):
        return prod(self.shape(tensor))

    def is_trained(self, tensor):
        """Whether it is a parameter, registered or not, or is trained like one. torch marks those
        of other classes: https://github.com/pytorch/pytorch/pull/77695"""
        if issubclass(type(tensor), self.Lazy):
            return False
        is_parameter = "_is_param" in self.tensor_attributes(tensor)
        is_parameter |= issubclass(type(tensor), self.Parameter)
        return is_parameter or (self.requires_grad(tensor) and self.is_leaf(tensor))

    @staticmethod
    def dtype_name(dtype):
        return str(dtype).replace("torch.", "")

    def storage_key(self, tensor):
        """A key that is equal for two tensors that share their memory. On meta every `data_ptr()`
        is 0; torch's own answer is this too (`torch.storage.UntypedStorage.__deepcopy__`)."""
        return self.untyped_storage(tensor)._cdata

    def is_lazy(self, tensor):
        return isinstance(tensor, self.Lazy)

    def computed_from(self, tensor):
        """The parameters of which a tensor was computed: where autograd ends."""
        nodes, visited = [self.grad_fn(tensor)], set()
        while nodes and len(visited) < MOST_NODES:
            node = nodes.pop()
            if node is None or node in visited:
                continue
            visited.add(node)
            if isinstance(getattr(node, "variable", None), self.Parameter):
                yield node.variable
            nodes += [before for before, _ in node.next_functions]

    def compiled(self, module):
        """The module that TorchScript made of one of its own classes, or of one that was traced,
        or that a weak proxy stands for; any other module as it is."""
        if type(module) in PROXIES:
            module = module.__reduce_ex__.__self__
        return self.attributes(module).get("_actual_script_module", module)

    def compiled_name(self, module):
        """The full name of the class that a compiled module was; None for any other module."""
        script = self.attributes(module).get("_c")
        if script is None or not isinstance(script, self.Script):
            return None
        return _COMPILED.sub("", script._type().qualified_name())

    def full_name(self, module):
        """That of its class; of a compiled module, of the class that was compiled."""
        return self.compiled_name(module) or _name_of(type(module))

    def name(self, module):
        """The last part of that."""
        name = self.compiled_name(module)
        return name.rpartition(".")[2] if name else type(module).__name__

    def is_a(self, module, classes):
        name = self.compiled_name(module)
        return isinstance(module, classes) or (bool(name) and name in map(_name_of, classes))

    def own_parameters(self, module):
        """[(name, parameter)] of those that a module holds itself."""
        return self.entries(self.attributes(module), "_parameters")

    def own_children(self, module):
        """[(name, module)] of those directly below a module, the same one as often as it is
        there."""
        children = self.entries(self.attributes(module), "_modules")
        return [(name, self.compiled(child)) for name, child in children]

    @staticmethod
    def entries(attributes, kind):
        """[(name, what it is)] of those that a module with these attributes has of a kind:
        "_parameters", "_buffers", "_modules"."""
        parts = attributes.get(kind)
        if parts is None:
            return []
        if isinstance(parts, dict):  # DeepSpeed's has methods of its own
            is_ordered = isinstance(parts, collections.OrderedDict)
            items = (collections.OrderedDict if is_ordered else dict).items(parts)
        else:  # what is compiled
            items = parts.items()
        return [pair for pair in items if pair[1] is not None]

    def packed(self, attributes):
        """[(name, tensor)] of what a quantised layer of torch keeps in objects of C++, which it
        saves with the model, though they are neither parameters nor buffers."""
        packed = [pair for pair in dict.items(attributes) if type(pair[1]) is self.ScriptObject]
        tensors, pending = [], packed[::-1]
        while pending:
            name, value = pending.pop()
            if type(value) is self.ScriptObject:
                with contextlib.suppress(Exception):
                    pending.append((name, value.__getstate__()[0]))
            elif isinstance(value, (tuple, list)):
                pending += [(name, part) for part in reversed(value)]
            elif isinstance(value, self.Tensor) and (
                value.is_quantized or value.is_floating_point()
            ):
                tensors.append((name, value))
        return tensors

    def modules_below(self, module):
        """A module and all below it, each once."""
        todo, visited = [self.compiled(module)], set()
        while todo:
            module = todo.pop()
            if id(module) not in visited:
                visited.add(id(module))
                yield module
                todo += [child for _, child in reversed(self.own_children(module))]

    def parameters_below(self, module):
        """Those of a module and of all below it, each once."""
        parameters = {
            id(parameter): parameter
            for inner in self.modules_below(module)
            for _, parameter in self.own_parameters(inner)
        }
        return [*parameters.values()]


def _name_of(kind):
    return "{}.{}".format(kind.__module__, kind.__qualname__)
