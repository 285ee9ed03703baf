"""Turn a `DiffReport` into text: the formats of `nparam-lint diff`, pure like those of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.report.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.analysis.diff import DiffReport
    from nparam_lint.report import Options

    Formatter = Callable[[DiffReport, Options], str]


DRIFT_FORMATS: dict[str, Formatter] = {
    "text": lazy(__name__, "text"),
    "concise": lazy(__name__, "concise"),
    "json": lazy(__name__, "json_"),
    "markdown": lazy(__name__, "markdown"),
    "github": lazy(__name__, "github"),
}
# What others read: there is one also where nothing could be compared.
DOCUMENTS = ("json", "markdown", "github")
