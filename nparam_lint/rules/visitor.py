"""What a rule does with one file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from nparam_lint.rules.class_methods import Class
    from nparam_lint.rules.source_file import SourceFile


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
