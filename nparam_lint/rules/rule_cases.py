"""How the rules write down their cases: source in which the position of what matters is plain."""

from __future__ import annotations

from textwrap import dedent, indent

# (source, the findings expected as "line:column message")
Invalid = tuple[str, tuple[str, ...]]

_IMPORTS = "import torch\nfrom torch import nn\n"
_NET = "class Net(nn.Module):\n    def __init__(self, n=2):\n        super().__init__()\n"


def built(body: str, more: str = "") -> str:
    """A module whose `__init__` says `body`, which begins at line 6, column 9. `more`: further
    methods, from column 5 on."""
    return _IMPORTS + _NET + _block(body, 8) + _block(more, 4)


def run(body: str, init: str = "self.n = n") -> str:
    """A module whose `forward(self, x)` says `body`, which begins at line 8, column 9. `init`: one
    line of its `__init__`."""
    head = _IMPORTS + _NET + _block(init, 8) + "    def forward(self, x):\n"
    return head + _block(body, 8)


def source(text: str) -> str:
    """A file that begins with `import torch` and `from torch import nn`: `text` with line 3."""
    return _IMPORTS + _block(text, 0)


def _block(text: str, depth: int) -> str:
    return indent(dedent(text).strip("\n") + "\n", " " * depth) if text else ""
