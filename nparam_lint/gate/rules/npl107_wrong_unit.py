"""A number of parameters is given in a unit of bytes: in 1024**2, or in MB.

Found in the source, without building anything. A million is 10**6; powers of
1024 are for bytes. The sum of `numel()` divided by 1024**2 and shown as "M" is
4.6 % less than the millions of parameters, and "Params (MB)" calls a number
bytes that is none: of 32-bit parameters, each takes four.

It is a warning, since the model is not affected. What is written beside the
value decides: a message, a key, or the name of the variable or function says
that these are parameters. Not reported:

- bytes: `p.numel() * p.element_size()`, `* 4`, or any other factor;
- what is called MB, MiB, bytes, memory or size there, and not parameters;
- a number from which something else is calculated.
"""

from __future__ import annotations

import ast
import math
import re
from enum import Enum, auto
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import FUNCTIONS, flat
from nparam_lint.gate.rules import source
from nparam_lint.gate.rules.labels import labels
from nparam_lint.gate.rules.parameter_counts import CountScope, counters
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.discover.syntax import Function
    from nparam_lint.gate.rules import Found
    from nparam_lint.gate.rules.labels import Label
    from nparam_lint.gate.rules.source_file import SourceFile

SEVERITY = "warning"
EXAMPLE_BAD = """\
n_params = sum(p.numel() for p in model.parameters())
print(f"Params: {n_params / 1024**2:.1f}M")"""
EXAMPLE_GOOD = """\
n_params = sum(p.numel() for p in model.parameters())
print(f"Params: {n_params / 1e6:.1f}M")"""
REMEDY = "Divide by 1e6 and call it M (`Params (M)`), or multiply by `element_size()` for bytes."


class _Meaning(Enum):
    """What a label says of a value."""

    PARAMETERS = auto()
    MILLIONS = auto()  # of what is not said
    MEGABYTES = auto()  # of parameters
    OTHER = auto()  # bytes, or what else is no number of parameters
    # By the name of a variable, a key or a function:
    NAMED_PARAMETERS = auto()
    NAMED_MEGABYTES = auto()
    NAMED_SIZE = auto()
    NOTHING = auto()


class _Unit(NamedTuple):
    """What a number is divided by, to be a number of `size`; its letters in a text."""

    divisor: float
    size: float
    letters: str


_UNITS = (
    _Unit(1e6, 1e6, "M"),
    _Unit(1024.0 * 1000, 1e6, "M"),
    _Unit(1024.0**2, 1e6, "M"),
    _Unit(1e9, 1e9, "BG"),
    _Unit(1024.0**2 * 1000, 1e9, "BG"),
    _Unit(1024.0**3, 1e9, "BG"),
)
_PARAMETERS = late_pattern(r"(?<![A-Za-z])(?:n|num)?_?param(?:s|eters?)?(?![A-Za-z])|参数", re.I)
_BYTES = late_pattern(
    r"(?<![A-Za-z])[KMGT]i?B(?![A-Za-z])|byte|memory|footprint|storage|checkpoint|quanti"
    r"|\b(?:v?ram|mem|disk|int8|8-?bit)\b|内存|显存|字节",
    re.I,
)
_OTHERS = late_pattern(
    r"flop|\bmacs?\b|activ|gradient|optim|buffer|cache|token|ratio|percent", re.I
)
_SIZE = late_pattern(r"size|大小", re.I)
_LETTERS = r"([KMGTB](?:i?B|bytes?)?|mega\w+|[mb]illions?|%)"
_UNIT_BEHIND = late_pattern(rf"\s*[(\[]?{_LETTERS}(?![A-Za-z/])", re.I)
_UNIT_IN_BRACKETS = late_pattern(rf"[(\[]\s*(?:in )?{_LETTERS}\s*[)\]]", re.I)
_BREAK = late_pattern(r"[,;|\n(/]|\. | - ")
_COUNTS = late_pattern(r"numel|nelement")
_WORD = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COUNT_WORDS = frozenset("param params parameter parameters nparam nparams numparams".split())
_OTHER_WORDS = frozenset(
    """
    byte bytes nbytes mem memory ram vram footprint storage disk kb kib mib gb gib int8 quant
    flops macs activation activations grad grads gradients optimizer buffer buffers cache ratio
    percent percentage fraction k thousand b g billion billions
    """.split()
)


def check_file(file: SourceFile) -> Iterator[Found]:
    tree, lines = file.parsed.tree, file.parsed.lines
    if not any(map(_COUNTS.search, lines)):  # of nearly all files
        return
    functions = list(_functions(tree.body))
    names = counters(functions)
    faults: dict[ast.expr, tuple[str, str]] = {}  # of one text there is one
    for place in (tree, *functions):
        scope = CountScope(place, names)
        for node, divisor in scope.quotients() if scope.counts_elements else ():
            unit = next((unit for unit in _UNITS if math.isclose(unit.divisor, divisor)), None)
            text = _text_around(node, scope)
            if unit and text not in faults:
                fault = _fault(node, unit, scope)
                if fault and not _comment_says_bytes(text, lines):
                    faults[text] = fault
    yield from ((text, *fault) for text, fault in faults.items())


def _functions(body: Sequence[ast.stmt]) -> Iterator[Function]:
    """All functions, in classes and other functions too."""
    pending = [body]
    while pending:
        for statement in flat(pending.pop()):
            if isinstance(statement, (ast.ClassDef, *FUNCTIONS)):
                pending.append(statement.body)
            if isinstance(statement, FUNCTIONS):
                yield statement


def _fault(node: ast.expr, unit: _Unit, scope: CountScope) -> tuple[str, str] | None:
    """What is wrong with a number of elements that is divided by a unit, and what to do."""
    of_parameters = scope.is_of_parameters(node)
    meanings = {_meaning(label, unit, of_parameters) for label in labels(node, scope)}
    right = f"1e{math.log10(unit.size):.0f}"
    is_exact = unit.divisor == unit.size
    if _Meaning.OTHER in meanings:
        return None
    if _Meaning.MEGABYTES in meanings:
        also = "" if is_exact else f", and divide by {right}"
        wrong = f"{unit.letters[-1]}B"
        message = f"a number of parameters is said to be in {wrong}, which are bytes"
        return message, f"write {unit.letters[0]}{also}"
    if _Meaning.NAMED_PARAMETERS in meanings and not _BYTES.search(scope.docstring):
        meanings.add(_Meaning.MILLIONS)
    is_meant = _Meaning.MILLIONS in meanings and _Meaning.NAMED_SIZE not in meanings
    is_meant = is_meant or _Meaning.PARAMETERS in meanings
    if is_exact or _Meaning.NAMED_MEGABYTES in meanings or not is_meant:
        return None
    missing = f"{1 - unit.size / unit.divisor:.1%}".replace("%", " %")
    message = f"a number of parameters is divided by {unit.divisor:,.0f}: it comes out {missing} "
    return f"{message}too small", f"divide by {right}"


def _meaning(label: Label, unit: _Unit, of_parameters: bool) -> _Meaning:
    if label.is_changed:
        return _Meaning.OTHER
    return _of_name(label.name) if label.name else _of_text(label, unit, of_parameters)


def _of_name(name: str) -> _Meaning:
    words = {word.lower() for word in _WORD.findall(name)}
    if words & _OTHER_WORDS:
        return _Meaning.OTHER
    if words & {"size", "sizes"}:
        return _Meaning.NAMED_SIZE
    if words & {"mb", "megabytes"}:
        return _Meaning.NAMED_MEGABYTES
    return _Meaning.NAMED_PARAMETERS if words & _COUNT_WORDS else _Meaning.NOTHING


def _of_text(label: Label, unit: _Unit, of_parameters: bool) -> _Meaning:
    """`of_parameters`: the names in the calculation say so."""
    behind = _UNIT_BEHIND.match(label.after)
    before = _BREAK.split(_UNIT_IN_BRACKETS.sub(" ", label.before))[-1]
    after = _BREAK.split(label.after[behind.end() if behind else 0 :])[0]
    brackets = _UNIT_IN_BRACKETS.findall(label.before)
    letters = behind[1] if behind else brackets[-1] if brackets else ""
    words = f"{before} {after}"
    is_count = bool(_PARAMETERS.search(words))
    if _BYTES.search(words) or _OTHERS.search(words):
        return _Meaning.OTHER
    if letters == f"{unit.letters[-1]}B":
        is_other = not is_count or _SIZE.search(words)
        return _Meaning.OTHER if is_other else _Meaning.MEGABYTES
    if letters and letters.upper().removesuffix("S").removesuffix("ILLION") not in unit.letters:
        return _Meaning.OTHER
    if _SIZE.search(words) and not (is_count and letters):
        return _Meaning.OTHER
    if is_count:
        return _Meaning.PARAMETERS
    return _Meaning.MILLIONS if letters and of_parameters else _Meaning.NOTHING


def _text_around(node: ast.expr, scope: CountScope) -> ast.expr:
    """The f-string that a value stands in, in which Python before 3.12 does not know the places;
    elsewhere the value."""
    outer: ast.AST | None = node
    while isinstance(outer, (ast.expr, ast.keyword, ast.comprehension)):
        node = outer if isinstance(outer, ast.JoinedStr) else node
        outer = scope.parents.get(id(outer))
    return node


def _comment_says_bytes(node: ast.expr, lines: Sequence[str]) -> bool:
    written = lines[node.lineno - 1 : node.end_lineno]
    return any(_BYTES.search(line.rpartition("#")[2]) for line in written if "#" in line)


def _counted(body: str) -> str:
    """A script with a model of 2**20 parameters, counted in line 4; `body` begins at line 5."""
    count = "n = sum(p.numel() for p in model.parameters())"
    return source(f"model = nn.Linear(1023, 1024)\n{count}\n{dedent(body).strip()}")


VALID = tuple(
    map(
        _counted,
        (
            'print(f"Params: {n:,}, {n / 1e6:.2f}M, {n / 1e9:.3f}B")',
            'print(f"Params: {n / 1e6:.2f}M ({n * 4 / 1024**2:.2f}M in float32)")',
            'print(f"Params: {n / 1e6:.2f}M ({n / 1024**2:.2f}MB as int8)")',
            'print(f"Params: {n / 1024:.2f}K")',
            'print(f"Params: {100 * n / 2**20:.1f}% of a chunk")',
            'print(f"Params: {n}\\nMemory: {n / 2**20:.1f}M")',
            'print(f"Memory: {n / 1024**2:.2f} MB")',
            'print(f"Memory of the parameters: {n / 1024**2:.2f}M")',
            'print(f"{n / 1024**2:.2f} MiB for parameters")',
            'print(f"Model size: {n / 1024**2:.2f}M")',
            'print(f"Parameter size: {n / 1024**2:.2f}")',
            'print(f"Size of the parameters: {n / 1e6:.2f} MB")',
            'print(f"Params (int8): {n / 1e6:.2f} MB")',
            "print(n / 1024**2)",
            'print(n / 1024**2, "of the parameters")  # MB, as int8',
            'print("Params:", n, "Memory:", n / 2**20, "MB")',
            'print("Params: {}, {:.2f} MB".format(n, 4 * n / 2**20))',
            'print("{} params {".format(n / 2**20))',
            'print("%d params, %d" % (n / 2**20,))',
            'print("Params: " + str(n) + ", memory: " + str(n / 2**20) + " MB")',
            "size_mb = n / 1024**2\nprint(size_mb)",
            "params_mb = n / 1024**2\nprint(params_mb)",
            'n_params = n / 1024**2\nprint(f"{n_params * 4:.2f} MB")',
            'n_params = n / 1024**2\nprint(f"{n_params:.2f} MB")',
            'n_params = n / 1024**2\ntable.add_row("Memory", n_params)',
            'rows = [["Size (MB)", n / 1024**2], [1, 2, n / 1024**2]]',
            'print("Params: %.2f MB" % (sum(p.numel() * 4 for p in model.parameters()) / 2**20))',
            """
            n = sum(p.numel() * p.element_size() for p in model.parameters())
            print(f"Params: {n / 1024**2:.2f}M", n / 1e6, "MB of parameters")
            """,
            """
            total = 0
            for p in model.parameters():
                total += p.numel() * p.element_size()
            print(f"Params: {total / 1024**2:.2f} MB")
            """,
            'total = n\ntotal *= 4\nprint(f"Params: {total / 1024**2:.2f} MB")',
            'for n in (1, 2):\n    print(f"Params: {n / 1024**2:.2f}M")',
            'print(f"{torch.zeros(8).numel() / 2**20:.0f}M")',
            'print(f"Activations: {torch.zeros(8).numel() / 2**20:.0f}M")',
            """
            def parameters(model):
                \"\"\"The parameters in megabytes (8-bit).\"\"\"
                return sum(p.numel() for p in model.parameters()) / 1024**2
            """,
            """
            def show(n, model):
                n = int(n)
                print(f"Params: {n / 1024**2:.2f} MB", sum(p.numel() for p in model.parameters()))
            """,
            """
            def model_size(model):
                n_params = sum(p.numel() for p in model.parameters())
                return n_params / 1024**2
            """,
        ),
    )
)
_MEBI = "a number of parameters is divided by 1,048,576: it comes out 4.6 % too small"
_MEGABYTES = "a number of parameters is said to be in MB, which are bytes"
_KEPT = {
    'print(f"Params: {n / 1024**2:.2f}M")': f"5:7 {_MEBI}",
    'print(f"{n / 2**20:.2f}M params, {n / 1048576:.2f} million")': f"5:7 {_MEBI}",
    'print(f"Number of parameters: {n >> 20}")': f"5:7 {_MEBI}",
    'print("Params: %.2fM, %d%% used" % (n / 1024 / 1024, 5))': f"5:37 {_MEBI}",
    'print("{m:.2f}M of {n}".format(n=n, m=n / (1 << 20)))': f"5:39 {_MEBI}",
    'print("#params:", round(n / 2**20, 2))': f"5:25 {_MEBI}",
    'print("Params: " + str(n / 2**20) + "M")': f"5:24 {_MEBI}",
    'import logging\nlogging.warning("Params: %.2fM", n / 1024**2)\nprint(n / 1024**2)': (
        f"6:34 {_MEBI}"
    ),
    "n_params = n / 1024**2\nprint(n_params)": f"5:12 {_MEBI}",
    'size = n / 1024**2\nprint(f"{size:.2f}M trainable params")': f"5:8 {_MEBI}",
    'stats = {"params": n / 1024**2}\nprint(stats)': f"5:20 {_MEBI}",
    'stats = {}\nstats["Params (M)"] = f"{n / 1024**2:.2f}"\nprint(stats)': f"6:23 {_MEBI}",
    'rows = [["Parameters", n * 1.0 / 2**20]]\nprint(rows)': f"5:24 {_MEBI}",
    'print(f"Params: {n / 1024 / 1e3:.3f}M")': "5:7 a number of parameters is divided by "
    "1,024,000: it comes out 2.3 % too small",
    'print(f"Params: {n / 1024**3:.6f}B")': "5:7 a number of parameters is divided by "
    "1,073,741,824: it comes out 6.9 % too small",
    """
    total = 0
    for p in model.parameters():
        if p.requires_grad:
            total = total + p.numel()
    print("Total: {:.2f}M".format(total / 1024**2))
    """: f"9:31 {_MEBI}",
    """
    def count(model):
        return sum({id(p): torch.numel(p) for p in model.parameters()}.values())
    print(f"Params: {count(model) / 1024**2:.2f}M")
    """: f"7:7 {_MEBI}",
    """
    class Counter:
        def n_params(self, model):
            sizes = [p.numel() if p.requires_grad else 0 for p in model.parameters()]
            return sum(sizes) / 1024**2
    print(Counter().n_params(model))
    """: f"8:16 {_MEBI}",
    """
    self = lambda: None
    self.n_params = sum(map(lambda p: p.nelement(), model.parameters())) / 1024**2
    print(self.n_params)
    """: f"6:17 {_MEBI}",
    'print(f"Params: {n / 1e6:.2f} MB")': f"5:7 {_MEGABYTES}",
    'print("Params (MB):", n / 1024**2)': f"5:23 {_MEGABYTES}",
    'stats = {"Params (MB)": n * 1e-6}\nprint(stats)': f"5:25 {_MEGABYTES}",
    'mb = n / 1e6\nprint("Total params: %.2fMB" % mb)': f"5:6 {_MEGABYTES}",
}
INVALID = {_counted(case): expected for case, expected in _KEPT.items()}
