"""Turn a `DiffReport` into text: the formats of `nparam-lint diff`, pure like those of a report."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.diff import DiffReport
    from nparam_lint.report import Options

    Formatter = Callable[[DiffReport, Options], str]


def _lazy(module: str) -> Formatter:
    def render(report: DiffReport, options: Options) -> str:
        text: str = import_module(f"{__name__}.{module}").render(report, options)
        return text

    return render


DRIFT_FORMATS: dict[str, Formatter] = {
    "text": _lazy("text"),
    "concise": _lazy("concise"),
    "json": _lazy("json_"),
    "markdown": _lazy("markdown"),
    "github": _lazy("github"),
}
# What others read: there is one also where nothing could be compared.
DOCUMENTS = ("json", "markdown", "github")
