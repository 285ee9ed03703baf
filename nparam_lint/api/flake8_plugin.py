"""The static rules as a flake8 plugin: `flake8 --select NPL`, one file at a time, nothing built.

flake8's own `# noqa: NPL101` and this project's `# nparam: ignore[NPL101]` both silence a finding.
Unused comments are not reported here, since some findings need more files than this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.gate.rules import lint
from nparam_lint.ground.errors import defect
from nparam_lint.ground.version import __version__

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence


class Plugin:
    """flake8 makes one for each file that it could parse. The parameter `tree` marks it as a plugin
    for syntax; `lines` is the source as flake8 read it, from a file or from standard input."""

    name = "nparam-lint"
    version = __version__

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.tree = tree
        self.filename = filename
        self.source = "".join(lines)

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """(line, column from 0, "CODE message", this class) for each finding."""
        try:
            for item in lint.lint_source(self.source, self.filename):
                remedy = f"; {item.detail[0]}" if item.detail else ""
                text = f"{item.code} {item.message}{remedy}"
                yield item.position.line, item.position.column - 1, text, type(self)
        except Exception as error:  # the other files are checked
            yield 1, 0, f"NPL003 not checked: {defect(error)}", type(self)
