"""The rules, one file each, with what finds them in source. Here is the catalogue of all, made from
those files, each of which is imported when its rule is needed; and helpers with which a rule writes
its cases."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib import import_module
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.nearest import did_you_mean

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Iterator

    from nparam_lint.records import Severity
    from nparam_lint.rules.source_file import Class
    from nparam_lint.rules.values import Values

    # What a rule finds in a class that is an `nn.Module`: where, what, and what to do.
    Found = tuple[ast.expr | ast.stmt, str, str]
    Check = Callable[[Class, Values], Iterable[Found]]

_STRIPPED = "Its text is not available: Python runs with -OO, which removes docstrings."


class UnknownRule(UsageError):
    """No rule has this code or name; the message suggests the closest one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. The name of its file, `npl101_plain_container.py`, gives its code and name, the
    file's docstring its summary (the first line) and its explanation (the rest). The other fields
    are constants of the file, in capitals.

    `example_bad` is what is reported, `example_good` what is not. `enabled`: reported unless it is
    ignored; a rule that is off must be selected. A rule that needs source alone has a code from
    NPL100 on, a function `check`, and cases: files with no finding (`valid`), and files with the
    findings expected of them (`invalid`), each a line "line:column message".
    """

    code: str
    name: str
    summary: str
    explanation: str
    example_bad: str
    example_good: str
    remedy: str
    severity: Severity = "error"
    enabled: bool = True
    valid: tuple[str, ...] = ()
    invalid: Mapping[str, str] = field(default_factory=dict)
    check: Check | None = None


class _Catalogue(Mapping[str, Rule]):
    """Code → rule, in the order of the codes. The codes and names alone import nothing."""

    @cached_property
    def _modules(self) -> dict[str, str]:
        # Not with pathlib, which takes longer to import than all else here.
        files = sorted(os.listdir(os.path.dirname(__file__)))  # noqa: PTH120, PTH208
        modules = (file[: -len(".py")] for file in files if file.endswith(".py"))
        return {_code_and_name(name)[0]: name for name in modules if name.startswith("npl")}

    @property
    def names(self) -> dict[str, str]:
        """Name → code."""
        return {_code_and_name(module)[1]: code for code, module in self._modules.items()}

    def __getitem__(self, code: str) -> Rule:
        return _read(self._modules[code])

    def __contains__(self, code: object) -> bool:
        return code in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def _code_and_name(module: str) -> tuple[str, str]:
    """`npl101_plain_container` → ("NPL101", "plain-container")."""
    code, _, words = module.partition("_")
    return code.upper(), words.replace("_", "-")


@cache
def _read(name: str) -> Rule:
    module = import_module(f"{__name__}.{name}")
    summary, _, explanation = (module.__doc__ or _STRIPPED).partition("\n")
    said = vars(module)
    given = {one.name: said[one.name.upper()] for one in fields(Rule) if one.name.upper() in said}
    name_of = _code_and_name(name)
    return Rule(*name_of, summary, explanation.strip(), check=said.get("check"), **given)


RULES = _Catalogue()


def find(code: str) -> Rule:
    """The rule of that code or name. Raises UnknownRule."""
    wanted, names = code.strip(), RULES.names
    found = wanted.upper() if wanted.upper() in RULES else names.get(wanted.lower())
    if found is not None:
        return RULES[found]
    codes = list(RULES)
    hint = did_you_mean(wanted, [*codes, *names], f"there are {codes[0]} to {codes[-1]}")
    raise UnknownRule(f"no rule {wanted!r}{hint}")


def explain(code: str) -> str:
    """The page of one rule for a terminal. Raises UnknownRule."""
    rule = find(code)
    paragraphs = (
        f"{rule.code}  {rule.name}  ({state(rule)})",
        rule.summary,
        rule.explanation,
        "Reported:",
        indent(rule.example_bad, "    "),
        "Better:",
        indent(rule.example_good, "    "),
        f"What to do: {rule.remedy}\n",
    )
    return "\n\n".join(paragraphs)


def state(rule: Rule) -> str:
    """Its severity, and whether it is off by default."""
    return rule.severity if rule.enabled else f"{rule.severity}, off by default"


# --- how the rules write their cases: source in which positions are easy to see ---

_IMPORTS = "import torch\nfrom torch import nn\n"
_NET = "class Net(nn.Module):\n    def __init__(self, n=2):\n        super().__init__()\n"


def built(body: str, more: str = "") -> str:
    """A module whose `__init__` says `body`, which begins at line 6, column 9. `more`: further
    methods, from column 5 on."""
    return _IMPORTS + _NET + _block(body, 8) + _block(more, 4)


def run(body: str, init: str = "self.n = n") -> str:
    """A module whose `forward(self, x)` says `body`, which begins at line 8, column 9. `init`: one
    line of its `__init__`."""
    return built(init) + "    def forward(self, x):\n" + _block(body, 8)


def source(text: str) -> str:
    """A file that begins with `import torch` and `from torch import nn`: `text` with line 3."""
    return _IMPORTS + _block(text, 0)


def _block(text: str, depth: int) -> str:
    return indent(dedent(text).strip("\n") + "\n", " " * depth) if text else ""


# What stands in every source in which a rule finds something: for others it is not imported. A rule
# that is not listed here looks at every source.
_TRIGGERS = {
    # a list, set, dict or tuple: written out, or made by a call. Each branch begins with a certain
    # sign, so that it is searched for quickly, and finds too much rather than too little.
    "NPL101": (
        rb"[\[{](?<![\w)\]\"'].)|else[\[{]|[=+*|\\]\s*\(|else\s*\(|\)\s*,"
        rb"|\n[^=\n(]*=(?:\\\n|[^\n(])*,|list\b|tuple\b|set\b|dict\b|Dict\b|deque\b"
    ),
    "NPL102": rb"def[\s\\]+forward\b",
    # a constructor that begins with something else than the call of that of a base
    "NPL103": (
        rb"def[\s\\]+__init__(?!\([^()]*\)(?:\s*->[^:\n]*)?:\s*super\([\w, ]*\)\.__init__\()"
    ),
}


def source_codes(source: bytes | None = None) -> list[str]:
    """The codes of the rules that look at the classes of a source: of those that may find something
    in this one."""
    codes = [code for code in RULES if code.startswith("NPL1")]
    if source is None:
        return codes
    return [
        code
        for code in codes
        if code not in _TRIGGERS or re.search(_TRIGGERS[code], source, re.MULTILINE)
    ]
