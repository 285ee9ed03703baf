"""The ladder of devices on which a model is built, and what is done for it to torch."""

from __future__ import annotations

import contextlib

from ..state import STATE

RUNGS = ("meta", "cpu without initialisation", "cpu")
SMALL = 1 << 20  # elements of a tensor whose values are worth having
SMALL_RANDOM = 1 << 16
_RANDOM_IN_PLACE = frozenset(
    ("normal_ uniform_ log_normal_ exponential_ cauchy_ geometric_ random_ bernoulli_").split()
)
# In-place functions keep shape and dtype, so that on meta there is nothing for them to do; doing it
# would import 800 modules the first time.
_IN_PLACE = frozenset(
    (
        "add_ sub_ mul_ div_ pow_ clamp_ clip_ fill_ zero_ copy_ erfinv_ exp_ log_ sqrt_ neg_ "
        "sign_ masked_fill_ tril_ triu_ abs_ floor_ ceil_ round_ lerp_ addmm_ renorm_ "
        "fill_diagonal_"
    ).split()
)
# Ways for a value to become a width: Python reads it, or a shape follows from it.
_READERS = frozenset(
    (
        "item tolist numpy __array__ __bool__ __int__ __float__ __index__ __complex__ __contains__ "
        "equal allclose is_nonzero nonzero argwhere unique unique_consecutive masked_select "
        "bincount repeat_interleave"
    ).split()
)


def patch_initialisers(torch):
    """Make `torch.nn.init.*_` do nothing while `STATE.skips_initialisers`. They never change a
    count, and the first normal_ on meta imports 900 modules. Before the project is imported, so that
    `from torch.nn.init import xavier_uniform_` gets them too."""
    init = torch.nn.init

    def quiet(original, fan):
        def initialise(*args, **kwargs):
            if not STATE.skips_initialisers:
                return original(*args, **kwargs)
            tensor = args[0] if args else kwargs["tensor"]
            if fan and tensor.dim() < 2:  # the one check that tells a wrong model from a right one
                init._calculate_fan_in_and_fan_out(tensor)
            return tensor

        initialise.__name__ = original.__name__
        initialise.__doc__ = original.__doc__
        initialise.__wrapped__ = original
        return initialise

    for name, function in list(vars(init).items()):
        if name.endswith("_") and not name.startswith("_") and callable(function):
            setattr(init, name, quiet(function, name.startswith(("xavier", "kaiming"))))


def make_mode(torch):
    """The function mode under which models are built (a class, since torch comes late).

    Everything goes to one device, whatever the constructor asks for, and moves only change dtypes.
    On meta, weights (`torch.empty`) hold nothing, but what a constructor may read back or compute
    with (`torch.linspace(0, 0.1, depth).tolist()`, masks, rotary tables) is really made, on the
    CPU, as long as it is small. That builds what plain meta cannot, and it is faster: arithmetic
    on meta imports 800 modules the first time.
    """
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import _device_constructors

    tensor = torch.Tensor
    # How many elements they make stands in their arguments; the others make what they are given.
    sized = {torch.zeros, torch.ones, torch.full, torch.randn, torch.rand}
    empty = {torch.empty, torch.empty_strided, torch.empty_permuted}
    random_makers = {torch.randn, torch.rand}

    def holds_tensor(values):
        for value in values:
            kind = type(value)
            if kind is int:
                continue
            if isinstance(value, tensor) or (kind in (tuple, list) and holds_tensor(value)):
                return True
        return False

    def elements(args, kwargs):
        size = kwargs.get("size", args)
        if len(size) and isinstance(size[0], (tuple, list)):
            size = size[0]
        number = 1
        for n in size:
            number *= int(n) if isinstance(n, int) else 1
        return number

    def to_meta(value):
        return value.to("meta") if isinstance(value, tensor) else value

    def read(mode, func, args, kwargs):
        STATE.read_values = True
        return mode.call(func, args, kwargs)

    def index(mode, func, args, kwargs):
        if holds_tensor(args[1:]):
            STATE.read_values = True
        return mode.call(func, args, kwargs)

    def draw(mode, func, args, kwargs):
        return args[0] if mode.skip_init else mode.call(func, args, kwargs)

    def change(mode, func, args, kwargs):
        return args[0] if args[0].is_meta else mode.call(func, args, kwargs)

    def move(mode, func, args, kwargs):
        for value in (*args[1:], *kwargs.values()):
            if isinstance(value, (torch.dtype, tensor)):
                return args[0].to(value if isinstance(value, torch.dtype) else value.dtype)
        return args[0]

    def make(mode, func, args, kwargs):
        if holds_tensor(args):  # a size, perhaps
            STATE.read_values = True
        kwargs = dict(kwargs, device="cpu")
        kwargs.pop("pin_memory", None)
        if mode.device == "meta":
            limit = SMALL_RANDOM if func in random_makers else SMALL
            if func in empty or (func in sized and elements(args, kwargs) > limit):
                kwargs["device"] = "meta"
                if func in random_makers:
                    func = torch.empty
                    kwargs.pop("generator", None)
            elif func is torch.tensor and len(args) == 1 and type(args[0]) is list and not args[0]:
                kwargs["device"] = "meta"  # transformers asks so where it is
        return func(*args, **kwargs)

    methods = {}  # function of torch -> what is done in its place; asked for every one of them
    for names, method in (
        (_READERS, read),
        (("__getitem__",), index),
        (_IN_PLACE, change),
        (_RANDOM_IN_PLACE, draw),
        (("to", "cuda", "cpu"), move),
    ):
        spaces = (tensor, torch) if method is read else (tensor,)
        found = (getattr(space, name, None) for space in spaces for name in names)
        methods.update((function, method) for function in found if function is not None)
    methods.update(dict.fromkeys(_device_constructors(), make))

    class Build(TorchFunctionMode):
        def __init__(self, device, skip_init):
            super().__init__()
            self.device, self.skip_init = device, skip_init

        def __torch_function__(self, func, types, args=(), kwargs=None):
            method = methods.get(func)
            if method is not None:
                return method(self, func, args, kwargs or {})
            return self.call(func, args, kwargs or {})

        def call(self, func, args, kwargs):
            if kwargs and kwargs.get("device") is not None:
                kwargs = dict(kwargs, device=None)
            try:
                return func(*args, **kwargs)
            except RuntimeError as error:
                if self.device != "meta" or "device" not in str(error):
                    raise
                moved = {k: to_meta(v) for k, v in kwargs.items()}
                return func(*map(to_meta, args), **moved)

    return Build


@contextlib.contextmanager
def rung(mode, name):
    """The context in which a model is built on one rung of the ladder."""
    STATE.skips_initialisers = name != "cpu"
    try:
        with mode("meta" if name == "meta" else "cpu", skip_init=name != "cpu"):
            yield
    finally:
        STATE.skips_initialisers = False


def no_cuda(torch):
    """Why nothing can be built on a GPU; None where it can."""
    if not torch.backends.cuda.is_built():
        return "this torch is built without CUDA"
    if not torch.cuda.is_available():
        return "no CUDA device"
    return None
