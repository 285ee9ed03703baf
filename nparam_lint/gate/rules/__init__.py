"""The rules, one file each, and what finds them in source; here, helpers that write their cases."""

from __future__ import annotations

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


def source_codes() -> list[str]:
    """The codes of the rules that need source alone."""
    return [code for code in RULES if code.startswith("NPL1")]
