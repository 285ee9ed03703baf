"""A budget that gives an argument which the constructor does not have.

`nparam(detph=24): 354M` says how the model is to be built: with an unknown argument it cannot be,
and the count is never checked.

An error: the call raises TypeError. The arguments of a config object count too
(`nparam(GPTConfig(n_layr=24))`) where its class stands in the same file. No finding where the
constructor takes `**kwargs`, is inherited from another file, or where the class or function is
decorated by what may change its signature.
"""

from __future__ import annotations

import ast
import difflib
import re
from typing import TYPE_CHECKING

from nparam_lint.claims.docstring_budgets import Declared, parse_docstring
from nparam_lint.claims.notation import read_expression
from nparam_lint.discover.syntax import dotted_name, tail
from nparam_lint.rules.classes import keeps_signature
from nparam_lint.rules.rule_cases import Invalid, source
from nparam_lint.rules.walk import Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.records import Definition, DocLine, Parameter

CODE = "NPL105"

_NET = '''\
class Net({bases}):
    """A net.

    nparam({arguments}): 354M
    """
    def __init__(self, {parameters}):
        super().__init__()
'''


def _net(arguments: str, parameters: str, bases: str = "nn.Module") -> str:
    return source(_NET.format(arguments=arguments, parameters=parameters, bases=bases))


_CONFIG = """
from dataclasses import dataclass
@dataclass
class Config:
    depth: int = 12
"""

VALID = (
    _net("depth=24", "depth=12"),
    _net("24, width=3", "depth, *, width=2"),
    _net("detph=24", "depth=12, **options"),
    _net("**settings", "depth=12"),
    _net("make(detph=24)", "config"),
    _net("Config(depth=24)", "config") + _CONFIG,
    source('from base import Base\nclass Net(Base):\n    """nparam(detph=24): 12"""'),
    source(
        "from base import BuildMixin\nclass Net(BuildMixin, nn.Module):\n"
        '    """nparam(detph=24): 12"""'
    ),
    _net("detph=24", "depth=12") + "    def __new__(cls, **options): ...\n",
    source(
        '@unknown\nclass Net(nn.Module):\n    """nparam(detph=24): 12"""\n'
        "    def __init__(self, depth): ..."
    ),
    source('@register_model\ndef net(depth=2, **options):\n    """nparam(detph=24): 12"""'),
    source(
        "class Base(nn.Module):\n    def __init__(self, depth): ...\n"
        'class Net(Base):\n    """nparam(depth=24): 12"""'
    ),
)
INVALID: tuple[Invalid, ...] = (
    (
        _net("detph=24", "depth=12, width=64"),
        ("6:12 Net has no argument 'detph'; did you mean 'depth'?",),
    ),
    (
        _net("12, layers=24", "depth=12, *, width=64"),
        ("6:16 Net has no argument 'layers'; it takes depth, width",),
    ),
    (
        _net("Config(12, detph=24)", "config") + _CONFIG,
        ("6:23 Config has no argument 'detph'; did you mean 'depth'?",),
    ),
    (
        source(
            "class Base(nn.Module):\n    def __init__(self, depth): ...\n"
            'class Net(Base):\n    """nparam(depht=24): 12"""'
        ),
        ("6:15 Net has no argument 'depht'; did you mean 'depth'?",),
    ),
    (
        source('class Net(nn.Module):\n    """nparam(depth=24): 12"""'),
        ("4:15 Net has no argument 'depth'; it takes none",),
    ),
    (
        source('@register_model\ndef net(depth=2):\n    """nparam(\n    detph=24\n    ): 12"""'),
        ("6:5 net has no argument 'detph'; did you mean 'depth'?",),
    ),
)


class Rule(Visitor):
    def visit_docstring(self, definition: Definition, lines: Sequence[DocLine]) -> None:
        for budget in parse_docstring(lines)[0]:
            if budget.arguments is not None:
                call = read_expression(f"{definition.qualname}({budget.arguments})")
                for name, unknown, known in self._unknown(call):
                    message = f"{name} has no argument {unknown!r}; {_hint(unknown, known)}"
                    at = _place(unknown, budget, lines)
                    self.report(at, message, "correct the budget", definition.qualname)

    def _unknown(self, call: ast.expr) -> Iterator[tuple[str, str, Sequence[Parameter]]]:
        """Each call in the expression with an argument that it cannot take, and what it takes."""
        for node in ast.walk(call):
            if not isinstance(node, ast.Call):
                continue
            name = dotted_name(node.func)
            known = self._takes(name) if name else None
            if known is None or any(item.kind == "varkwargs" for item in known):
                continue
            names = {item.name for item in known if item.kind != "varargs"}
            for item in node.keywords:
                if item.arg is not None and item.arg not in names:
                    yield name, item.arg, known

    def _takes(self, name: str) -> Sequence[Parameter] | None:
        """The parameters of a class or function of this file; None where they are not sure."""
        names, path = self.file.names, self.file.path
        symbol = self.file.resolve(name)
        if symbol is None or b"def __new__" in self.file.source:
            return None
        if symbol.kind == "function":
            function = names.functions(path)[symbol.name]
            return function.parameters if _plain(function.decorators) else None
        if symbol.kind != "class":
            return None
        lineage = self.file.lineage(symbol.name)
        own = names.classes(path)[symbol.name]
        for base in lineage:
            if base.kind == "class":
                facts = names.classes(path)[base.name]
                if not _plain(facts.decorators) or (facts.init and facts.init.decorators):
                    return None
            elif base.name.endswith("Mixin") and own.init is None:
                return None  # it may bring a constructor
        return self.file.models.parameters(symbol)


def _plain(decorators: Sequence[str]) -> bool:
    return all(keeps_signature(name) or tail(name) == "dataclass" for name in decorators)


def _hint(unknown: str, known: Sequence[Parameter]) -> str:
    names = [item.name for item in known if item.kind != "varargs"]
    near = difflib.get_close_matches(unknown, names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"it takes {', '.join(names[:12]) or 'none'}"


def _place(argument: str, budget: Declared, lines: Sequence[DocLine]) -> tuple[int, int]:
    """Where `argument=` stands: the last time before the budget's value."""
    pattern = re.compile(rf"\b{re.escape(argument)}\s*=(?!=)")
    for line in reversed(lines):
        if line.line <= budget.line:
            end = budget.column - line.column if line.line == budget.line else len(line.text)
            found = list(pattern.finditer(line.text[: max(end, 0)]))
            if found:
                return line.line, line.column + found[-1].start()
    return budget.line, budget.column
