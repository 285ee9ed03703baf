"""Under `pytest --nparam` each declared budget is an item beside the tests.

`report/budget_cases.py` says which passes, fails, is skipped, or is an error: one that arises
before the item runs, as of a fixture that cannot be set up. A wrong configuration is one error.

Models are counted once for a run, by the project's interpreter, before anything is collected; under
xdist by the controller, which hands the items to its workers. Warnings go to pytest's summary past
its filters: `filterwarnings = error` is about the project's code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest._code.code import ReprEntryNative, ReprFileLocation, ReprTraceback
from msgspec.structs import asdict, replace

from nparam_lint.analysis.formula_analysis import ANALYSIS
from nparam_lint.changes.causes import causes_by
from nparam_lint.config.interpreter import NoInterpreter
from nparam_lint.config.load import ConfigError
from nparam_lint.config.projects import projects_of
from nparam_lint.config.session import open_session, root_around
from nparam_lint.gate import check
from nparam_lint.ground.errors import defect
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.paths import join
from nparam_lint.ground.values import Position
from nparam_lint.report import Options
from nparam_lint.report.budget_cases import Case, cases
from nparam_lint.report.check_document import nothing_found
from nparam_lint.report.style import clean, plural, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from nparam_lint.config.session import Session
    from nparam_lint.gate.report import Report

NAME = "nparam"
_COLOR = re.compile("\x1b\\[[0-9;]*m")


class NparamWarning(UserWarning):
    """A finding of severity warning, or the notice that there was nothing to check."""


class BudgetPlugin:
    """The hooks that the option enables."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ids = _budget_ids(config)
        self.budget_cases: list[Case] | None = None

    def cases(self) -> list[Case]:
        """Those of the run. No property: pytest 7 would look at it, and so count, at the start."""
        if self.budget_cases is None:
            handed: str | None = getattr(self.config, "workerinput", {}).get(NAME)
            if handed is None:
                self.budget_cases = _count(self.config)
            else:
                self.budget_cases = [Case(**case) for case in json.loads(handed)]
        return self.budget_cases

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        self.cases()  # here, where Ctrl-C ends any pytest cleanly

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        # As ASCII: names that are no valid text cannot be sent otherwise.
        node.workerinput[NAME] = json.dumps([asdict(case) for case in self.cases()])

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)  # pytest 7 may have no other wrappers
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, None]:
        outcome = yield
        if isinstance(collector, pytest.Session) and outcome.excinfo is None:
            cases, ids = self.cases(), self.ids
            if cases or ids:
                budgets = Budgets.from_parent(
                    collector, name=NAME, nodeid=NAME, cases=cases, ids=ids
                )
                outcome.get_result().result.append(budgets)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport | None:
        if not isinstance(item, Budget) or call.excinfo is None:
            return None
        report, case = pytest.TestReport.from_item_and_call(item, call), item.case
        if call.excinfo.errisinstance(pytest.skip.Exception):
            report.longrepr = (case.path, case.line, case.message)
        elif call.excinfo.errisinstance(pytest.fail.Exception):
            report.longrepr = _FailureText(case)  # type: ignore[assignment]
        return report


# --- items ------------------------------------------------------------------------------------


class Budgets(pytest.Collector):
    """All declared budgets, or those that `ids` of the command line name."""

    def __init__(self, *, cases: Sequence[Case], ids: Sequence[str], **more: Any) -> None:
        super().__init__(**more)
        self.cases, self.ids = cases, ids

    def collect(self) -> Iterator[Budget]:
        by_id = {f"{self.nodeid}::{case.name}": case for case in self.cases}
        for name in self.ids:
            if not any(_is_meant(budget, name) for budget in by_id):
                hint = did_you_mean(name, by_id, "--collect-only shows them")
                raise self.CollectError(f"no budget has the id {name}{hint}")
        for budget, case in by_id.items():
            if not self.ids or any(_is_meant(budget, name) for name in self.ids):
                yield Budget.from_parent(self, name=case.name, nodeid=budget, case=case)


class Budget(pytest.Item):
    """One declared budget. The result is already known; running the item reports it."""

    def __init__(self, *, case: Case, **more: Any) -> None:
        super().__init__(**more)
        self.case = case
        self.funcargs: dict[str, object] = {}  # pytest-lsp fails at an item that has none
        self.add_marker(NAME)

    def setup(self) -> None:
        if self.case.outcome == "error":
            pytest.fail(self.case.message, pytrace=False)

    def runtest(self) -> None:
        if self.case.outcome == "failed":
            pytest.fail(self.case.message, pytrace=False)
        if self.case.outcome == "skipped":
            pytest.skip(self.case.message)

    def reportinfo(self) -> tuple[str, int, str]:
        # Not the id's own end: pytest would take it for a dotted name and rewrite it.
        return self.case.path, self.case.line - 1, f"{NAME} {self.case.name}"


class _FailureText:
    """Replaces a traceback. pytest prints it by `toterminal`. The data that xdist's workers send,
    and the place and message for summaries and editors, are pytest's own records."""

    def __init__(self, case: Case) -> None:
        self.text = case.text
        self.reprcrash = ReprFileLocation(case.path, case.line, case.message)
        lines = [f"{line}\n" for line in str(self).splitlines()]
        self.reprtraceback = ReprTraceback([ReprEntryNative(lines)], None, "native")
        self.sections: list[tuple[str, str, str]] = []

    def toterminal(self, terminal: Any) -> None:
        terminal.line(self.text if terminal.hasmarkup else str(self))

    def __str__(self) -> str:
        return _COLOR.sub("", self.text)


# --- ids on the command line ------------------------------------------------------------------


def _budget_ids(config: pytest.Config) -> list[str]:
    """The ids of budgets among the arguments, which are taken away: pytest would look for a file.
    It prints them with the way to its rootdir: `../nparam::model.py::Net[20]`."""
    ids, arguments = [], []
    for argument in config.args:
        place, separator, name = argument.partition("::")
        if separator and Path(place).name == NAME:
            ids.append(f"{NAME}::{name}")
        else:
            arguments.append(argument)
    config.args = arguments
    return ids


def _is_meant(budget: str, name: str) -> bool:
    return budget == name or budget.startswith((f"{name}[", f"{name}::"))


# --- counting ---------------------------------------------------------------------------------


def _count(config: pytest.Config) -> list[Case]:
    """Discover, count and judge every declared budget of the project around pytest's rootdir, and
    of the projects inside it."""
    here = root = root_around(config.rootpath)

    def below(place: Path) -> str:
        return "" if place == root else clean(place.relative_to(root).as_posix())

    def error(name: str, at: Position, message: str, text: str = "") -> list[Case]:
        """The single case if the budgets are not even known, or nothing can count them."""
        inside = f"in {below(here)}: " if here != root else ""
        message, text = f"{inside}{message}", f"{inside}{text or message}"
        wrapped = (wrap(line, _width(), "", "    ") for line in text.splitlines())
        shown = "\n".join(chain.from_iterable(wrapped))
        return [Case(name, str(here / at.path), at.line, "error", message, shown)]

    def open_at(_: Path, place: Path) -> Session:
        nonlocal here
        here = place
        session = open_session(place, os.environ, caller=config.invocation_params.dir)
        return replace(session, progress=_progress(config) or session.progress)

    budgets: list[Case] = []
    reports: list[tuple[Path, Report]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user's filters are not about our work
        try:
            for project in projects_of((), open_at(root, root), open_at):
                session, here = project.session, project.session.root
                report = check(
                    session,
                    project.paths,
                    left_out=project.left_out,
                    declared_only=True,
                    with_dependents=False,  # these are checked as models of their own project
                    analysis=ANALYSIS,
                    find_causes=causes_by(os.environ),
                )
                reporter = _reporter(config)
                color = reporter is not None and bool(reporter.hasmarkup)
                options = Options(_width(), color, session.settings.depth)
                for case in cases(report, here, options):
                    budgets.append(replace(case, name=join(below(here), case.name)))
                reports.append((here, report))
        except ConfigError as fault:
            first = fault.problems[0]
            message = f"the configuration is wrong: {first.message}"
            text = f"the configuration is wrong\n{fault}"
            return error("configuration", first.position, message, text)
        except NoInterpreter as fault:
            path = session.settings.config
            return error("interpreter", Position(path.name if path else ""), str(fault))
        except Exception as fault:  # the other tests are run
            return error("nparam-lint", Position(""), defect(fault))
    for place, report in reports:
        _tell(config, report, place, bool(budgets))
    return budgets


def _reporter(config: pytest.Config) -> Any:
    return config.pluginmanager.getplugin("terminalreporter")


def _progress(config: pytest.Config) -> Callable[[int, int, str], None] | None:
    """Shows progress in one line of the terminal; None if standard error is not a terminal."""
    reporter = _reporter(config)
    if reporter is None or not reporter.isatty or config.option.verbose < 0:
        return None

    def show(done: int, every: int, label: str) -> None:
        text = "" if done == every else f"nparam-lint: counting {done}/{every}  {label}"
        reporter.rewrite(text[: _width() - 1], erase=True)
        if done == every:
            reporter.rewrite("")

    return show


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def _tell(config: pytest.Config, report: Report, root: Path, declared: bool) -> None:
    """Print, with -v, which interpreter counted; the warnings; and whether nothing is declared."""

    reporter, who = _reporter(config), report.environment
    if reporter is not None and who is not None and config.option.verbose > 0:
        counted = f"{plural(len(report.models), 'model')} by {who.python} ({who.reason})"
        reporter.write_line(clean(f"nparam-lint: {counted}, torch {who.torch or 'missing'}"))
    for finding in report.findings:
        if finding.severity == "warning":
            at = finding.position
            _warn(config, f"{finding.code} {clean(finding.message)}", root / at.path, at.line)
    if not declared:
        nothing = nothing_found(report, Options(declared_only=True))
        _warn(config, nothing, root, 1, NAME)


def _warn(config: pytest.Config, message: str, path: Path, line: int, nodeid: str = "") -> None:
    warning = warnings.WarningMessage(NparamWarning(message), NparamWarning, str(path), line)
    config.hook.pytest_warning_recorded.call_historic(
        kwargs={
            "warning_message": warning,
            "nodeid": nodeid,
            "when": "collect",
            "location": (str(path), line, ""),
        }
    )
