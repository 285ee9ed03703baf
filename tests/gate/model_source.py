"""Models as source: a row of a table names what is of interest, and what all have is added."""

from __future__ import annotations

from textwrap import indent

TORCH = "from torch import nn\n\n"


def model_class(name: str, *body: str, doc: str = "", takes: str = "") -> str:
    """A module with that docstring, whose constructor takes that and does that."""
    described = f'    """{doc}"""\n\n' if doc else ""
    parameters = f"self, {takes}" if takes else "self"
    return (
        f"class {name}(nn.Module):\n{described}"
        f"    def __init__({parameters}):\n"
        "        super().__init__()\n" + indent("\n".join(body) + "\n", " " * 8)
    )
