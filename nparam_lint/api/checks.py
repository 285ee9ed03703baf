"""`nparam_lint.check` and `nparam_lint.assert_nparams`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nparam_lint import gate
from nparam_lint.analysis.formula_analysis import ANALYSIS
from nparam_lint.api.counts import Counts, check_metric, count_with
from nparam_lint.config import session as sessions
from nparam_lint.config.projects import without_inner_projects
from nparam_lint.gate.judge import heaviest, judge
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.notation import Selector, Target, TextError
from nparam_lint.ground.notation.budget import Budget
from nparam_lint.ground.notation.grammar import parse_tolerance, parse_value
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Callable

    from nparam_lint.gate.report import Report


def check(
    path: str | os.PathLike[str] = ".",
    *,
    config: str | os.PathLike[str] | None = None,
    declared: bool = False,
    static: bool = False,
) -> Report:
    """Check the budgets of the models at or below a path, and of those in its project that depend
    on it, as `nparam-lint PATH` does. The project's own interpreter builds them, in processes of
    its own. `config`: the config file (default: that of the project). `declared`: only models with
    a budget. `static`: build nothing.

    `report.ok` says whether all budgets hold; `report.findings` what is wrong. Raises UsageError
    where nothing can be checked: no such path, a wrong configuration, no interpreter with torch;
    and where a project with a config of its own lies below the path.
    """
    place = Path(os.path.abspath(path))
    if not place.exists():
        raise UsageError(f"there is no file or directory {os.fspath(path)}")
    file = None if config is None else Path(os.path.abspath(config))
    if file is not None and not file.is_file():
        raise UsageError(f"there is no config file {os.fspath(config or '')}")
    root = sessions.root_around(place, file)
    session = sessions.open_session(root, os.environ, config=file)
    session, inner = without_inner_projects(session)
    for name in inner:
        if (folder := root / name).is_relative_to(place) or place.is_relative_to(folder):
            raise UsageError(
                f"{name} is a project of its own, which a check of another one does not judge\n"
                f"next: nparam_lint.check({os.path.relpath(folder)!r})\n"
                f'      and in the config above it: exclude = ["{name}/**"]'
            )
    return gate.check(
        session,
        () if place == root else (place,),
        declared_only=declared,
        static_only=static,
        analysis=ANALYSIS,
    )


def assert_nparams(
    model: Callable[..., Any] | Counts,
    expected: str | int,
    *,
    metric: str = "total",
    module: str = "",
    tolerance: str | int | None = None,
) -> Counts:
    """Assert the count of a model in a test, and return all its counts.

        assert_nparams(model, "124M ± 1%")
        assert_nparams(model, "<= 25k", metric="trainable", module="head")
        assert_nparams(GPT, "12*n_layer*n_embd**2", module="h", tolerance="1%")

    `model`: a module, a class or function that makes one without arguments, or, but for a formula,
    Counts.
    `expected`: a number, or a budget as in a docstring: `86.6M`, `7M ± 2%`, `<= 25k`, `1M..2M`, a
    formula of the constructor's arguments. `metric`: what is counted: parameters (`total`,
    `trainable`, `frozen`, `non_embedding`, `active`), elements (`buffers`) or bytes (`bytes`,
    `training_bytes`, …). `module`: the path of a module, or a pattern (`h.*`): each one that
    matches must have the count. `tolerance`: how far it may be off: `1%` or a number.

    Raises AssertionError with the count, the difference, and the heaviest modules; UsageError for
    what is no budget, metric or module.
    """
    __tracebackhide__ = True
    check_metric(metric)
    what = f"{expected!r} is not a budget"
    try:
        value = parse_value(str(expected), metric)
        what = f"{tolerance!r} is not a tolerance"
        spread = None if tolerance is None else parse_tolerance(str(tolerance), metric)
    except TextError as error:
        raise UsageError(f"{what}: {error}") from None
    if not isinstance(model, Counts):
        model = count_with(model, names=value.names)
    elif value.names:
        raise UsageError(f"{expected!r} is a formula, which needs the model, not its Counts")
    measured = model.measured
    budget = Budget(
        Target("", measured.call.partition("(")[0]),
        Selector(metric, module),
        value,
        str(expected),
        Position(""),
        "config",
        spread,
    )
    _, findings = judge(budget, measured, None)
    wrong = next((finding for finding in findings if finding.code != "NPL001"), None)
    if wrong is not None:
        raise UsageError(wrong.message)
    if findings:
        lines = [finding.message for finding in findings]
        raise AssertionError("\n".join([*lines, *heaviest(measured.modules, metric)]))
    return model
