"""The rules, one file each, and what finds them in source; here, helpers that write their cases."""

from __future__ import annotations

import re
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from nparam_lint.ground.rule_catalogue import RULES

if TYPE_CHECKING:
    import ast

    # What a rule finds in a file or in a class that is an `nn.Module`: where, what, what to do.
    Found = tuple[ast.expr | ast.stmt, str, str]

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
    "NPL107": rb"\bn(?:umel|element)\b",
}


def source_codes(source: bytes | None = None) -> list[str]:
    """The codes of the rules that need source alone: those that may find something in this one."""
    codes = [code for code in RULES if code.startswith("NPL1")]
    if source is None:
        return codes
    return [
        code
        for code in codes
        if code not in _TRIGGERS or re.search(_TRIGGERS[code], source, re.MULTILINE)
    ]
