"""What a rule file says in its `RULE`, and what a rule does with one source file."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent, indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from nparam_lint.records import Severity
    from nparam_lint.rules.class_methods import Class
    from nparam_lint.rules.source_file import SourceFile

_STRIPPED = "Its text is not there: Python runs with -OO, which leaves out docstrings."
# (source, the findings expected as "line:column message")
Invalid = tuple[str, tuple[str, ...]]

_IMPORTS = "import torch\nfrom torch import nn\n"
_NET = "class Net(nn.Module):\n    def __init__(self, n=2):\n        super().__init__()\n"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. The name of its file, `npl101_plain_container.py`, gives its code and name, the
    file's docstring its summary (the first line) and its explanation (the rest).

    `example_bad` is what is reported, `example_good` what is not. `enabled`: reported unless it is
    ignored; a rule that is off must be selected. A rule that needs source alone has a code from
    NPL100 on, a `visitor`, and cases: files with no finding (`valid`), and files with the findings
    expected of them, as "line:column message" (`invalid`).
    """

    module: str
    text: str | None
    severity: Severity
    example_bad: str
    example_good: str
    remedy: str
    enabled: bool = True
    visitor: type[Visitor] | None = None
    valid: tuple[str, ...] = ()
    invalid: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def code(self) -> str:
        return code_and_name(self.module)[0]

    @property
    def name(self) -> str:
        return code_and_name(self.module)[1]

    @property
    def summary(self) -> str:
        return (self.text or _STRIPPED).partition("\n")[0]

    @property
    def explanation(self) -> str:
        return (self.text or _STRIPPED).partition("\n")[2].strip()


def code_and_name(module: str) -> tuple[str, str]:
    """`nparam_lint.rules.npl101_plain_container` → ("NPL101", "plain-container")."""
    code, _, words = module.rpartition(".")[2].partition("_")
    return code.upper(), words.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of one rule in one file. `line` and `column` count from 1, columns in characters;
    `qualname`: of the class or factory it is about."""

    line: int
    column: int
    message: str
    remedy: str
    qualname: str


class Visitor:
    """Made once for a file and a rule. A rule overrides `visit_class`, which is called for each
    class that is an `nn.Module`, or `visit_file`."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file
        self.found: list[Found] = []

    def visit_file(self) -> None:
        for owner in self.file.module_classes:
            self.visit_class(owner)

    def visit_class(self, owner: Class) -> None: ...

    def report(self, node: ast.stmt | ast.expr, message: str, remedy: str, qualname: str) -> None:
        """Report what stands at the node."""
        self.found.append(Found(*self.file.place(node), message, remedy, qualname))


# --- how the rules write down their cases: source in which a position is plain ---


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
