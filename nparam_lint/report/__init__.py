"""Turn a `Report` into text. A formatter is one module with `render(report, options) -> str`.

Formatters are pure: they never print and never ask what they are printed on. What they return is
empty or ends with one newline. Each is imported when it is used, so that no run pays for another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from nparam_lint.records import ModelReport, Report
from nparam_lint.report.lazy import lazy


@dataclass(frozen=True, slots=True)
class Options:
    """How a report is to look; decided by the edge, which knows the terminal.

    `depth`: levels of modules below the root (None: as many as make a short table). `tables`: how
    many tables of top-level models are printed; those of broken budgets always are. `place`: what
    was searched, in words (`src`). `declared_only`: models without a budget were left out.
    `prefix`: where the project lies in its repository (`packages/nets`), for what links to files.
    """

    width: int = 80
    color: bool = False
    depth: int | None = None
    verbose: int = 0
    quiet: bool = False
    tables: int = 5
    place: str = ""
    declared_only: bool = False
    prefix: str = ""


Formatter = Callable[[Report, Options], str]


FORMATS: dict[str, Formatter] = {
    "text": lazy(__name__, "text"),
    "concise": lazy(__name__, "concise"),
    "json": lazy(__name__, "json_"),
    "github": lazy(__name__, "github"),
    "gitlab": lazy(__name__, "gitlab"),
    "sarif": lazy(__name__, "sarif"),
    "junit": lazy(__name__, "junit"),
    "markdown": lazy(__name__, "markdown"),
    "html": lazy(__name__, "html"),
}


def render_show(model: ModelReport, options: Options) -> str:
    """The page of one model, for `nparam-lint show TARGET`."""
    text: str = import_module(f"{__name__}.show").render_show(model, options)
    return text
