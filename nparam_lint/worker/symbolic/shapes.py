"""The expressions of tensors' shapes, carried from the function that makes a tensor to its
parameter."""

import contextlib

from ..state import STATE
from .traced_numbers import Traced, plain, row_of, traced

ROWS = "_nparam_rows"  # attribute of a tensor: the row of each of its lengths
SIZED = "empty zeros ones rand randn full new_empty new_zeros new_ones new_full".split()


def traced_shape(tensor, shape):
    """A shape with its expressions, while a constructor is traced; else as it is."""
    rows = None if STATE.trace is None or STATE.trace.paused else getattr(tensor, ROWS, None)
    if rows is None or len(rows) != len(shape):
        return tuple(shape)
    return tuple(map(traced, map(int, shape), rows))


def untraced(value):
    """Arguments for torch, with numbers of Python's own types."""
    if isinstance(value, Traced):
        return plain(value)
    if type(value) in (tuple, list):
        return type(value)(map(untraced, value))
    return value


def numbers_in(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from numbers_in(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            yield value


def make_shape_mode(torch):
    """The function mode that is active, inside of the one that builds, while a model is traced."""
    from torch.overrides import TorchFunctionMode

    sized = {getattr(space, n, None) for n in SIZED for space in (torch, torch.Tensor)} - {None}
    tensor, properties = torch.Tensor, torch.Tensor.shape.__get__

    def rows_with(value):
        return getattr(value, ROWS, None)

    def rows_of(out, args, kwargs, is_sized):
        """The rows of a result: the arguments where they are its size, the shape of what it was
        made of, else what has the same length."""
        shape = list(out.shape)
        if is_sized:
            size = kwargs.get("size", args[1:] if args and isinstance(args[0], tensor) else args)
            lengths = [*numbers_in(size if isinstance(size, (tuple, list)) else [size])]
            lengths = lengths[: len(shape)]
            if [*map(plain, lengths)] == shape:
                return [*map(row_of, lengths)]
        values = [*args, *kwargs.values()]
        parts = [p for v in values for p in (v if isinstance(v, (tuple, list)) else [v])]
        sources = [p for p in parts if isinstance(p, tensor) and rows_with(p) is not None]
        for source in sources:
            if list(source.shape) == shape:
                return rows_with(source)
        lengths = {int(n): n.row for n in numbers_in(values) if isinstance(n, Traced)}
        for source in sources:
            lengths.update(zip(source.shape, rows_with(source)))
        for row in lengths.values():
            STATE.trace.lose("shape", row)
        return [lengths[n] if n in lengths else STATE.trace.number(n) for n in shape]

    class ShapeMode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs, trace = kwargs or {}, STATE.trace
            trace.paused += 1
            try:
                out = func(*map(untraced, args), **{k: untraced(v) for k, v in kwargs.items()})
            finally:
                trace.paused -= 1
            if isinstance(out, tensor):
                if rows_with(out) is None:
                    with contextlib.suppress(Exception):  # a lazy parameter has no shape
                        setattr(out, ROWS, rows_of(out, args, kwargs, func in sized))
            elif args and rows_with(args[0]) is not None:
                rows = rows_with(args[0])
                if func == properties or (func is tensor.size and len(args) == 1):
                    return torch.Size(map(traced, map(int, out), rows))
                if func is tensor.size and isinstance(out, int):
                    return traced(out, rows[args[1]])
            return out

    return ShapeMode


@contextlib.contextmanager
def carried(torch):
    """Parameters keep the rows of the tensors that they are made of."""
    parameter = torch.nn.Parameter
    original = parameter.__new__

    def new(cls, data=None, *args, **kwargs):
        result = original(cls, data, *args, **kwargs)
        rows = getattr(data, ROWS, None)
        if rows is not None and getattr(result, ROWS, None) is None:
            setattr(result, ROWS, rows)
        return result

    parameter.__new__ = new
    try:
        with make_shape_mode(torch)():
            yield
    finally:
        parameter.__new__ = original
