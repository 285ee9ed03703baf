"""The ladder of devices on which a model is built, and the changes to torch that this needs."""

import contextlib
import functools
import math
import sys

from ..state import STATE
from ..torch_compat import check_fan, default_device, tensor_makers, tracing_test, unseen
from ..tracing.project_paths import is_project, line_of

RUNGS = ("meta", "cpu without initialisation", "cpu")  # the first to be tried first
SKIPPING = RUNGS[:-1]  # those on which initialisers do nothing
SMALL = 1 << 20  # elements of a tensor whose values are worth having
SMALL_RANDOM = 1 << 16
_RANDOM_IN_PLACE = (
    "normal_ uniform_ log_normal_ exponential_ cauchy_ geometric_ random_ bernoulli_".split()
)
# In-place functions keep shape and dtype, so that on meta there is nothing for them to do; doing it
# would import 800 modules the first time.
_IN_PLACE = (
    "add_ sub_ mul_ div_ pow_ clamp_ clip_ fill_ zero_ copy_ erfinv_ exp_ log_ sqrt_ neg_ sign_ "
    "masked_fill_ tril_ triu_ abs_ floor_ ceil_ round_ lerp_ addmm_ renorm_ fill_diagonal_".split()
)
_CHANGES = "__setitem__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__ __idiv__".split()
# Functions by which a value may become a width: Python reads it, or a shape depends on it.
_READERS = (
    "item tolist numpy __array__ __bool__ __int__ __float__ __index__ __complex__ __contains__ "
    "equal allclose is_nonzero nonzero argwhere where unique unique_consecutive masked_select "
    "bincount repeat_interleave to_sparse".split()
)

# Properties and methods that distinguish meta from other devices.
_DEVICE_PROPERTIES = (
    "device is_meta is_cpu is_cuda is_mps is_xpu is_xla is_hpu is_ipu is_maia is_mtia is_vulkan"
).split()
_MOVES = "to cpu cuda xpu mtia ipu hpu".split()
_DEVICE_METHODS = (
    "data_ptr type storage untyped_storage storage_type __repr__ __format__ is_pinned "
    "is_shared get_device __reduce_ex__ __dlpack_device__"
).split()


def has_values(tensor):
    """Whether the values of a tensor exist and are few: a width may be read from them."""
    try:
        return not tensor.is_meta and tensor.numel() <= SMALL_RANDOM
    except ValueError:  # that of a lazy layer has no shape yet
        return False


def is_accelerator(device):
    """Whether a device, as a constructor names it, is a GPU or the like (a number is one of a
    GPU)."""
    return str(device).partition(":")[0] not in ("None", "cpu", "meta")


def patch_initialisers(torch):
    """Make `torch.nn.init.*_` do nothing while `STATE.skips_initialisers`, except to a tensor that
    `has_values`. They change no count, and the first normal_ on meta imports 900 modules. To be
    called before the project is imported, so that `from torch.nn.init import xavier_uniform_` gets
    them too."""
    init, is_plain, quietly = torch.nn.init, {torch.Tensor, torch.nn.Parameter}, unseen(torch)

    def quiet(original, fan):
        @functools.wraps(original)
        def initialise(*args, **kwargs):
            if not STATE.skips_initialisers:
                return original(*args, **kwargs)
            tensor = args[0] if args else kwargs["tensor"]
            with quietly() if type(tensor) in is_plain else contextlib.nullcontext():
                may_be_read = has_values(tensor)
                is_flat = fan and not may_be_read and tensor.dim() < 2
            if may_be_read:
                return original(*args, **kwargs)
            if is_flat:  # the one check that tells a wrong model from a right one
                check_fan(torch, tensor)
            return tensor

        return initialise

    def unless_on_meta(original):
        @functools.wraps(original)
        def reset_parameters(self):
            parameters = [p for p in vars(self)["_parameters"].values() if p is not None]
            with quietly():
                is_needless = parameters and all(p.is_meta for p in parameters)
            if not (STATE.skips_initialisers and is_needless):
                original(self)

        return reset_parameters

    for name, function in list(vars(init).items()):
        if name.endswith("_") and not name.startswith("_") and callable(function):
            setattr(init, name, quiet(function, name.startswith(("xavier", "kaiming"))))
    # Torch's own layers do nothing there but call these, and fill buffers with what they hold: it
    # saves a sixth of the time in which 1,200 of them are made.
    layers = [torch.nn.Module]
    for layer in layers:
        layers += [kind for kind in layer.__subclasses__() if kind not in layers]
        if "reset_parameters" in vars(layer):
            layer.reset_parameters = unless_on_meta(layer.reset_parameters)


class BuildMode:
    """Replaces functions of torch while a model is built on a device: what `make_mode` makes a
    function mode of, since torch comes late.

    Everything goes to one device, whatever the constructor asks for. What would be on a GPU is
    noted: a tensor that is moved there is another one, as it would be.
    On meta, weights (`torch.empty`) hold nothing, but what a constructor may read back or compute
    with (`torch.linspace(0, 0.1, depth).tolist()`, masks, rotary tables) is really made, on the
    CPU, as long as it is small; what becomes large loses its values. That builds what plain meta
    cannot, and it is faster: arithmetic
    on meta imports 800 modules the first time, since torch's meta functions are written in Python
    (https://github.com/pytorch/pytorch/pull/87426).
    """

    def __init__(self, device):
        super().__init__()
        self.device = device
        self.accelerated = {}  # the storages that would be on a GPU, by their keys

    def __torch_function__(self, func, types, args=(), kwargs=None):
        try:
            return self.replaced.get(func, BuildMode.call)(self, func, args, kwargs or {})
        except NotImplementedError as error:
            # What torch cannot do on meta. `torch.nn.utils.parametrize` takes it for a method
            # that nobody wrote, and goes on without: another model, and on meta alone.
            if self.device != "meta" or "meta" not in str(error).lower():
                raise
            raise RuntimeError(str(error)) from error

    def accelerate(self, tensor):
        storage = self.storage(tensor)
        if storage is not None:
            self.accelerated[storage._cdata] = storage

    def is_accelerated(self, value):
        if type(value) in (tuple, list):
            return any(map(self.is_accelerated, value))
        storage = self.storage(value) if self.accelerated else None
        return storage is not None and storage._cdata in self.accelerated

    def follow(self, result, target, args):
        """What is made on a GPU, or of what is there, is there; what was changed stays."""
        is_changed = any(result is value for value in args)
        if not is_changed and (is_accelerator(target) or self.is_accelerated(args)):
            self.accelerate(result)

    def holds_tensor(self, values):
        return any(
            isinstance(value, self.tensor)
            or (type(value) in (tuple, list) and self.holds_tensor(value))
            for value in values
        )

    def is_lost(self, changed, args, kwargs):
        """Whether a tensor that has values would be changed by one that has none."""
        if not isinstance(changed, self.tensor) or changed.is_meta:
            return False
        values = [*args, *kwargs.values()]
        for value in values:
            if type(value) in (tuple, list):
                values += value
            elif isinstance(value, self.tensor) and value.is_meta:
                return True
        return False

    def storage(self, value):
        """None for what is no tensor, and for one that has none, as a sparse one."""
        try:
            with self.quietly():
                return value.untyped_storage() if isinstance(value, self.tensor) else None
        except Exception:
            return None

    def to_meta(self, value):
        return value.to("meta") if isinstance(value, self.tensor) else value

    def call(self, func, args, kwargs):
        """The function itself, on the device of this mode."""
        if self.device == "meta" and self.is_tracing():  # what meets values there crashes
            raise RuntimeError("torch.jit.trace needs values")
        # torch takes it for done: the tensor would be as before.
        if self.device == "meta" and self.is_lost(changed_by(func, args, kwargs), args, kwargs):
            raise RuntimeError("a tensor is changed by one that has no values")
        target = kwargs.get("device")
        if target is not None:
            kwargs = dict(kwargs, device=None)
        try:
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                if self.device != "meta" or "device" not in str(error):
                    raise
                moved = {k: self.to_meta(v) for k, v in kwargs.items()}
                result = func(*map(self.to_meta, args), **moved)
        except Exception:
            if self.device == "meta" and STATE.saw_meta is None:  # the constructor may catch it
                STATE.saw_meta = line_of(sys._getframe(1))
            raise
        if self.device == "meta" and type(result) is self.tensor and result.numel() > SMALL:
            result = self.torch.empty_like(result, device="meta")
        if target is not None or self.accelerated:
            self.follow(result, target, args)
        if args and self.is_unfilled(args[0]) and isinstance(result, self.tensor):
            STATE.shrank |= not self.is_unfilled(result)
        return result

    def is_unfilled(self, value):
        """Whether a tensor, or what it is a part of, is so large that no initialiser filled it."""
        if self.device != "cpu" or not STATE.skips_initialisers:
            return False
        storage = self.storage(value)
        with self.quietly():
            return storage is not None and storage.nbytes() > SMALL_RANDOM * value.element_size()

    def read(self, func, args, kwargs):
        STATE.read_values = True
        STATE.shrank |= bool(args) and self.is_unfilled(args[0])
        return self.call(func, args, kwargs)

    def ask(self, func, args, kwargs):
        """A query on which code of the project may base a decision. (Queries by torch itself do not
        count.)"""
        if self.device == "meta" and STATE.saw_meta is None and args[0].is_meta:
            caller = sys._getframe(2)  # that of the mode, which functions in Python call on the way
            passed = ("handle_torch_function", func.__name__)
            # Code that was made of a text (`eval`) belongs to who runs it.
            while caller.f_code.co_name in passed or caller.f_code.co_filename.startswith("<"):
                caller = caller.f_back
            if is_project(caller.f_code.co_filename):
                STATE.saw_meta = line_of(caller)
        if func in self.answers and self.is_accelerated(args[0]):
            return self.answers[func]
        return self.call(func, args, kwargs)

    def index(self, func, args, kwargs):
        if self.holds_tensor(args[1:]):
            STATE.read_values = True
        return self.call(func, args, kwargs)

    def draw(self, func, args, kwargs):
        if STATE.skips_initialisers and not has_values(args[0]):
            return args[0]
        return self.call(func, args, kwargs)

    def initialise(self, func, args, kwargs):
        """`torch.nn.init.normal_`, as torch has it, goes on without the mode; on meta there is
        nothing for it to do, and doing it would import 800 modules."""
        tensor = args[0] if args else kwargs["tensor"]
        return tensor if tensor.is_meta else self.call(func, args, kwargs)

    def change(self, func, args, kwargs):
        return args[0] if args[0].is_meta else self.call(func, args, kwargs)

    def move(self, func, args, kwargs):
        tensor = moved = args[0]
        target = func.__name__ if func.__name__ != "to" else None
        for value in (*args[1:], *kwargs.values()):
            if isinstance(value, (self.torch.dtype, self.tensor)):
                moved = tensor.to(getattr(value, "dtype", value))
            if isinstance(value, self.tensor):
                target = "cuda" if self.is_accelerated(value) else "cpu"
            elif type(value) in (str, int) or isinstance(value, self.torch.device):
                target = value
        was_there = self.is_accelerated(tensor)
        goes_there = is_accelerator(target) or (target is None and was_there)
        layout = kwargs.get("memory_format") or self.torch.preserve_format
        is_laid_out = layout is self.torch.preserve_format or tensor.is_contiguous(
            memory_format=layout
        )
        if moved is tensor and (goes_there != was_there or kwargs.get("copy") or not is_laid_out):
            moved = self.copied(tensor)
        if goes_there:
            self.accelerate(moved)
        return moved

    def pin(self, func, args, kwargs):
        return self.copied(args[0])

    def copied(self, tensor):
        """Another tensor, as moving one makes it: that of a Parameter is a plain one."""
        is_plain = type(tensor) is self.tensor or isinstance(tensor, self.torch.nn.Parameter)
        if not is_plain or self.torch.nn.parameter.is_lazy(tensor):
            return tensor
        is_untouched = STATE.skips_initialisers and not (tensor.is_meta or has_values(tensor))
        return tensor.view_as(tensor) if is_untouched else tensor.clone()

    def make(self, func, args, kwargs):
        if self.holds_tensor(args):  # a size, perhaps
            STATE.read_values = True
        target = kwargs.get("device")
        kwargs = dict(kwargs, device="cpu")
        kwargs.pop("pin_memory", None)
        if self.device == "meta":
            limit = SMALL_RANDOM if func in self.random else SMALL
            count = length if func is self.torch.arange else elements
            if func in self.empty or (func in self.sized and count(args, kwargs) > limit):
                kwargs["device"] = "meta"
                if func in self.random:
                    func = self.torch.empty
                    kwargs.pop("generator", None)
            elif func is self.torch.tensor and [*map(type, args)] == [list] and not args[0]:
                kwargs["device"] = "meta"  # transformers asks so which device it is on
        tensor = func(*args, **kwargs)
        if is_accelerator(default_device() if target is None else target):
            self.accelerate(tensor)
        return tensor


def changed_by(func, args, kwargs):
    """What a function of torch changes in place; None for most."""
    name = func.__name__
    is_in_place = (name.endswith("_") and not name.endswith("__")) or name in _CHANGES
    return args[0] if is_in_place and args else kwargs.get("out")


def elements(args, kwargs):
    """How many elements a tensor of the size in these arguments has."""
    size = kwargs.get("size", args)
    if len(size) and isinstance(size[0], (tuple, list)):
        size = size[0]
    return math.prod(int(n) for n in size if isinstance(n, int))


def length(args, kwargs):
    """How many elements `torch.arange` makes of these arguments, about."""
    start, end, step = (*((0, *args) if len(args) == 1 else args), 0, 0, 1)[:3]
    span = kwargs.get("end", end) - kwargs.get("start", start)
    return span / (kwargs.get("step", step) or 1)


@functools.lru_cache(maxsize=None)
def make_mode(torch):
    """The function mode under which models are built. To be called before any code of the project
    runs, which may put its own in the place of torch's functions."""
    from torch.overrides import TorchFunctionMode

    constants = {
        "torch": torch,
        "tensor": torch.Tensor,
        "is_tracing": staticmethod(tracing_test(torch)),
        "quietly": unseen(torch),
        # How many elements they make is in their arguments; the others make what they are given.
        "sized": {torch.zeros, torch.ones, torch.full, torch.randn, torch.rand, torch.arange},
        "empty": {torch.empty, torch.empty_strided, torch.empty_permuted},
        "random": {torch.randn, torch.rand},
        "answers": {  # of what would be on a GPU
            torch.Tensor.device.__get__: torch.device("cuda", 0),
            torch.Tensor.is_cuda.__get__: True,
            torch.Tensor.is_cpu.__get__: False,
            torch.Tensor.get_device: 0,
        },
        "replaced": replacements(torch),
    }
    return type("BuildMode", (BuildMode, TorchFunctionMode), constants)


def replacements(torch):
    """Function of torch -> what is done in its place."""
    replaced = {}
    for names, method in (
        (_READERS, BuildMode.read),
        (("__getitem__",), BuildMode.index),
        (_IN_PLACE, BuildMode.change),
        (_RANDOM_IN_PLACE, BuildMode.draw),
        (_MOVES, BuildMode.move),
        (("pin_memory",), BuildMode.pin),
        (_DEVICE_METHODS, BuildMode.ask),
    ):
        spaces = (torch.Tensor, torch)[: 1 + (names in (_READERS, _DEVICE_METHODS))]
        functions = (getattr(space, name, None) for space in spaces for name in names)
        replaced.update((function, method) for function in functions if function is not None)
    replaced[torch._C._nn.one_hot] = BuildMode.read
    replaced[torch.nn.init.normal_] = BuildMode.initialise
    properties = (getattr(torch.Tensor, name, None) for name in _DEVICE_PROPERTIES)
    replaced.update((part.__get__, BuildMode.ask) for part in properties if part is not None)
    replaced.update(dict.fromkeys(tensor_makers(), BuildMode.make))
    return replaced


@contextlib.contextmanager
def rung(torch, name):
    """The context in which a model is built on one rung of the ladder."""
    STATE.skips_initialisers = name in SKIPPING
    try:
        with make_mode(torch)(name.split()[0]):
            yield
    finally:
        STATE.skips_initialisers = False
