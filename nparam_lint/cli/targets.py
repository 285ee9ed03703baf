"""The targets that a command line names: in full, or by the name of a model alone."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.cli import common
from nparam_lint.count.measured import NotMeasured
from nparam_lint.gate import lookup, show
from nparam_lint.gate.report import Report
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean_path, nearest
from nparam_lint.ground.notation import Selector, Target, TextError, parse_selected, parse_target
from nparam_lint.ground.paths import relative_path
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from nparam_lint.config.session import Session

_NAME = late_pattern(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*(?=[(\[]|$)")
_CANDIDATES = 8


def locate(
    options: Namespace, text: str, *, selects: bool = False, may_be_gone: bool = False
) -> tuple[Session, Target, Selector]:
    """A run on the project of the target that a text names, the target relative to the project, and
    the selector at the end of the text, where it has one. `GPT` alone will do where the project
    has one model of that name. Raises UsageError if the text is not a target, if there is no such
    file or model, or if several models have that name. `may_be_gone`: its file need not have it any
    more."""
    name = _NAME.match(text)
    if name and not name[1].endswith(".py") and not Path(text).is_file():
        text = _in_full(options, name[1], text[name.end() :])
    try:
        target, selector = parse_selected(text) if selects else (parse_target(text), Selector())
    except TextError as error:
        step = f"\nnext, for the models in it: nparam-lint {text}" if Path(text).is_file() else ""
        raise UsageError(f"{text!r} is not a target: {error}{step}") from None
    start = Path(target.location) if target.is_path else Path.cwd()
    session = common.session_for(options, start)
    if target.is_path and not start.is_file():
        near = lookup.models_called(_tail(target.callable), session) if target.callable else []
        hint = (
            f"; did you mean {_listed(near, session.root)}?" if near else did_you_mean_path(start)
        )
        raise UsageError(f"there is no file {target.location}{hint}")
    if target.is_path:
        target = _below(target, session.root)
        if not may_be_gone:
            _refuse_gone(target, session)
    if target.host and target.host.is_path:
        target = replace(target, host=_below(target.host, session.root))
    return session, target, selector


def show_named(session: Session, targets: Sequence[Target]) -> Report:
    """The report of some models. Raises UsageError where the worker finds that a target, or an
    argument of it, is not there: that is no finding about the model."""
    report = show(session, targets)
    for model in report.models:
        measurement = model.measurement
        if isinstance(measurement, NotMeasured) and measurement.is_misnamed and not model.budgets:
            raise UsageError(measurement.reason)
    return report


def _refuse_gone(target: Target, session: Session) -> None:
    """Raises UsageError where a file is sure not to define what the target calls, and says what it
    defines. A name that occurs in it at all is left to the worker."""
    first = target.callable.split(".")[0]
    path = session.root / target.location
    if path.suffix != ".py" or re.search(rf"\b{first}\b".encode(), path.read_bytes()):
        return
    if lack := lookup.what_file_lacks(target, session):
        gone, names = lack
        models = f"{target.location} defines {', '.join(names[:_CANDIDATES])}" if names else ""
        raise UsageError("\n".join(filter(None, (gone, models))))


def _below(target: Target, root: Path) -> Target:
    """The target with its path relative to the project."""
    location = relative_path(Path(target.location).absolute(), root)
    return replace(target, location=location)


def _tail(name: str) -> str:
    return name.rpartition(".")[2]


def _in_full(options: Namespace, name: str, arguments: str) -> str:
    """The target of the one model of the project that has this name."""
    session = common.session_for(options, Path.cwd())
    models, root = lookup.models_called(name, session), session.root
    if len(models) == 1:
        return f"{_from_here(models[0], root)}{arguments}"
    if models:
        lines = [f"  {_from_here(model, root)}" for model in models[:_CANDIDATES]]
        if len(models) > _CANDIDATES:
            lines.append(f"  … and {len(models) - _CANDIDATES:,} more")
        several = f"{len(models)} models are called {name}"
        raise UsageError("\n".join([several, "next: name one of them:", *lines]))
    by_name = {_tail(model.partition("::")[2]): model for model in lookup.all_models(session)[::-1]}
    close = nearest(_tail(name), by_name, 3)
    hint = f"; did you mean {_listed([by_name[n] for n in close], root)}?" if close else ""
    raise UsageError(
        f"no model of this project is called {name}{hint}\n"
        "next: name it in full, as nets/vit.py::ViT or torchvision.models::resnet50"
    )


def _listed(models: Sequence[str], root: Path) -> str:
    return " or ".join(_from_here(model, root) for model in models[:3])


def _from_here(model: str, root: Path) -> str:
    """A target as it is named in the current directory."""
    path, sign, name = model.partition("::")
    return relative_path(root / path) + sign + name
