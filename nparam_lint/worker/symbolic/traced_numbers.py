"""Numbers that carry their expression: an `int` and a `float` that say where they come from.

They are real numbers of their types, so that whatever takes a number takes them. What Python does
with a number without asking it (an index, a slice, a loop) cannot be seen here: it shows when the
model is built with other values.
"""

import math
import numbers
import operator

from ..state import STATE

ARITHMETIC = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "//": "floordiv",
    "%": "mod",
    "/": "truediv",
    "**": "pow",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
}
OF_WHOLE = frozenset("& | ^ << >>".split())
DIVISIONS = frozenset("// % /".split())
ORDER = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


class Traced:
    """What both kinds have in common. `row`: of the recorder's table."""

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return type(self).__base__, (plain(self),)

    def __hash__(self):
        STATE.trace.key(self.row)
        return hash(plain(self))

    def __int__(self):
        STATE.trace.lose("int()", self.row)
        return int(plain(self))

    def __repr__(self):
        return format(self)

    __str__ = __repr__

    def __format__(self, form):
        if STATE.trace is not None:  # an error's message may be made later
            STATE.trace.lose("text", self.row)
        return format(plain(self), form)

    def __bool__(self):
        outcome = plain(self) != 0
        STATE.trace.decide("!=", self.row, STATE.trace.number(0), outcome)
        return outcome

    def __neg__(self):
        return traced_result(-plain(self), "neg", self)

    def __pos__(self):
        return self

    conjugate = __pos__
    real = property(__pos__)

    def __abs__(self):
        return traced_result(abs(plain(self)), "abs", self)

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self


class TracedInt(Traced, int):
    def __float__(self):
        STATE.trace.lose("float()", self.row)
        return float(plain(self))

    def __floor__(self):
        return self

    __ceil__ = __trunc__ = __floor__

    def __round__(self, digits=None):
        return self if digits is None or digits >= 0 else round(plain(self), digits)

    def __invert__(self):
        return traced_result(~plain(self), "invert", self)

    def bit_length(self):
        return traced_result(plain(self).bit_length(), "bit_length", self)

    def bit_count(self):
        return traced_result(plain(self).bit_count(), "bit_count", self)

    def is_integer(self):
        return True

    numerator = property(__floor__)
    denominator = property(lambda self: 1)


class TracedFloat(Traced, float):
    def __float__(self):
        return plain(self)

    def __trunc__(self):
        return traced_result(math.trunc(plain(self)), "trunc", self)

    def __floor__(self):
        return traced_result(math.floor(plain(self)), "floor", self)

    def __ceil__(self):
        return traced_result(math.ceil(plain(self)), "ceil", self)

    def __round__(self, digits=None):
        if digits is None:
            return traced_result(round(plain(self)), "round", self)
        return traced_result(round(plain(self), digits), "round", self, int(digits))

    def is_integer(self):
        return bool(self == math.floor(plain(self)))


def plain(value):
    """A number of Python's own types."""
    if isinstance(value, int):
        return int.__add__(value, 0)
    return float.__add__(value, 0.0) if isinstance(value, float) else value


def row_of(value):
    return value.row if isinstance(value, Traced) else STATE.trace.number(value)


def traced(value, row):
    """A value with its expression; as it is where nothing varies in it."""
    if row is None:
        return value
    kind = TracedInt if type(value) is int else TracedFloat if type(value) is float else None
    if kind is None:
        return value
    number = kind.__new__(kind, value)
    number.row = row
    return number


def constant(value):
    """A number as it stands in the source, that asks what it meets: `0.9 * width`."""
    return traced(value, STATE.trace.number(value))


def symbol(name, value):
    """A variable; as it is where it is no number."""
    return traced(value, STATE.trace.row("s", name))


def traced_result(value, operation, *parts):
    """The result of an operation on numbers of which one at least is traced."""
    trace = STATE.trace
    if trace is None or trace.paused:
        return value
    rows = [row_of(part) for part in parts]
    if trace.are_constant(rows):
        return traced(value, trace.number(value)) if type(value) is float else value
    return traced(value, trace.row(operation, *rows))


def untraced_operand(other, number):
    """Of another kind of number, such as a fraction or one of numpy: it takes the plain value."""
    if isinstance(other, numbers.Number):
        STATE.trace.lose("int()", number.row)
    return NotImplemented


def arithmetic(sign, name):
    function = getattr(operator, name if name not in ("and", "or") else name + "_")

    def compute(first, second):
        operand = plain(second)
        if sign in DIVISIONS and isinstance(second, Traced):
            STATE.trace.decide("!=", second.row, STATE.trace.number(0), operand != 0)
        value = function(plain(first), operand)
        if type(value) is int and sign == "**" and operand > 64:
            return value
        return traced_result(value, sign, first, second)

    kinds = int if sign in OF_WHOLE else (int, float)

    def of_other(number, other):
        if sign == "*" and hasattr(other, "__len__"):  # a list, so many times
            STATE.trace.lose("loop", number.row)
        return untraced_operand(other, number)

    def straight(self, other, *modulus):
        if modulus:
            STATE.trace.lose("int()", self.row)
            return pow(plain(self), other, *modulus)
        return compute(self, other) if isinstance(other, kinds) else of_other(self, other)

    def reflected(self, other):
        return compute(other, self) if isinstance(other, kinds) else of_other(self, other)

    return straight, reflected


def comparison(sign, name):
    function = getattr(operator, name)

    def compare(self, other):
        if not isinstance(other, (int, float)):
            return untraced_operand(other, self)
        outcome = function(plain(self), plain(other))
        STATE.trace.decide(sign, self.row, row_of(other), outcome)
        return outcome

    return compare


for _sign, _name in ARITHMETIC.items():
    for _kind in (TracedInt,) if _sign in OF_WHOLE else (TracedInt, TracedFloat):
        _straight, _reflected = arithmetic(_sign, _name)
        setattr(_kind, f"__{_name}__", _straight)
        setattr(_kind, f"__r{_name}__", _reflected)
for _sign, _name in ORDER.items():
    for _kind in (TracedInt, TracedFloat):
        setattr(_kind, f"__{_name}__", comparison(_sign, _name))


def losing(function, kind):
    """A function, or a method, whose result does not say where it comes from."""

    def call(*values, **more):
        for value in values:
            if isinstance(value, Traced):
                STATE.trace.lose(kind, value.row)
        return function(*map(plain, values), **more)

    return call


for _kind in (TracedInt, TracedFloat):
    for _name, _method in vars(_kind.__base__).items():
        is_method = type(_method) is type(int.to_bytes) and not _name.startswith("_")
        if is_method and getattr(_kind, _name) is _method:
            setattr(_kind, _name, losing(_method, "int()"))
