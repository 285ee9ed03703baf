"""What made a budget break: its model is built as it was at another state of the project, and
compared by its parameters."""

from __future__ import annotations

import shlex
from contextlib import suppress
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.changes.edited_lines import EditedLines
from nparam_lint.changes.parameter_changes import ParameterChanges
from nparam_lint.changes.revision_diff import candidates_of_both
from nparam_lint.changes.states import States, in_moved_file, named_base
from nparam_lint.config.session import open_session
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.gate.building import count_models
from nparam_lint.gate.hooks import BudgetCause
from nparam_lint.gate.reading import read_source
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.notation import parse_selector
from nparam_lint.ground.orders import Ask
from nparam_lint.ground.values import Position
from nparam_lint.repository.git import GitError, open_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from nparam_lint.changes.records import Base
    from nparam_lint.changes.states import OpenCopy, Past
    from nparam_lint.config.session import Session
    from nparam_lint.count.measured import Measurement
    from nparam_lint.count.run import Answers
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import Broken, FindCauses
    from nparam_lint.ground.findings import BudgetResult
    from nparam_lint.ground.notation.budget import Budget
    from nparam_lint.repository.git import Repository
    from nparam_lint.repository.snapshot import Snapshot

    _Key = tuple[str, str]  # a target, and a metric

_NEW = "the budget is new or was changed"
# Where continuous integration says what a merge request is compared with, and what stands for it.
_MERGES_INTO = {"GITHUB_BASE_REF": "origin/{}...", "CI_MERGE_REQUEST_DIFF_BASE_SHA": "{}"}


def causes_by(environ: Mapping[str, str]) -> FindCauses:
    """What finds out what broke a budget since the usual revision, for a program that has no
    options."""

    def open_copy(_: Path, copy: Snapshot, root: Path) -> Session:
        return open_session(root, environ, snapshot=copy)

    return partial(causes_since, None, None, open_copy)


def base_at(since: str, environ: Mapping[str, str], home: Path) -> Base:
    """The commit that a revision names in a project. Raises UsageError where there is none."""
    return named_base(open_repository(home, environ), since)


def causes_since(
    since: Callable[[Path], Base] | None,
    pushed: str | None,
    open_copy: OpenCopy,
    broken: Broken,
    source: ProjectSource,
) -> list[BudgetCause]:
    """What made these budgets break `since` the commit that was asked for, or since the usual one;
    nothing where there is none. `pushed`: the commit that is checked. Raises UsageError for what
    was asked for."""
    session = source.session
    session.inputs.is_complete = False  # another commit may be the last one next time
    try:
        repository = open_repository(session.home, session.environ)
        base = since(session.home) if since else _usual_base(repository, session, pushed)
        if base is None:
            return []
        with States(session, repository, open_copy).at(base) as past:
            return find_causes(broken, source, past)
    except UsageError:
        if since:
            raise
        return []  # no repository, or a config that was wrong: the heaviest modules are told


def _usual_base(repository: Repository, session: Session, pushed: str | None) -> Base | None:
    """In a merge request the state that it starts from; else the last commit, or the one before
    where nothing was changed since. None where there is none."""
    for name, revision in _MERGES_INTO.items():
        if session.environ.get(name):
            with suppress(GitError):
                return named_base(repository, revision.format(session.environ[name]))
    is_changed = not pushed and repository.is_changed(staged=session.is_staged)
    with suppress(GitError):
        return named_base(repository, "HEAD" if is_changed else f"{pushed or 'HEAD'}~1")
    return None


def find_causes(broken: Broken, source: ProjectSource, past: Past) -> list[BudgetCause]:
    """Of each broken budget, what made the difference. A model may have many budgets, and is built
    once for each metric, then and now."""
    models_now = {(str(model.target), _metric(result)): model for model, result in broken}
    answers, builds_now = _builds(models_now, source)
    session, back = replace(past.session, interpreter=answers.interpreter), past.moves.back
    models_then: dict[_Key, Candidate] = {}
    builds_then: dict[_Key, Measurement] = {}
    if session.root.is_dir():
        targets = {key: in_moved_file(model.target, back) for key, model in models_now.items()}
        places = dict.fromkeys(session.root / target.location for target in targets.values())
        source_then = read_source(session, [place for place in places if place.is_file()])
        both = {model.target: model for model in candidates_of_both(source_then, source, back)}
        models_then = {key: both[target] for key, target in targets.items() if target in both}
        _, builds_then = _builds(models_then, source_then)

    @cache
    def changes(key: _Key) -> ParameterChanges | str:
        """What changed in a model, or why that is not known."""
        then, now = builds_then.get(key), builds_now[key]
        if isinstance(then, NotMeasured):
            return f"at {past.base.called} it could not be built: {then.reason}"
        if then is None or not isinstance(now, Measured):
            return f"it is new: {past.base.called} does not have it"
        return ParameterChanges(then, now, key[1])

    edits = EditedLines(source, past)
    copy = source.session.snapshot
    unstaged = [path for path in (copy.unstaged if copy else ()) if path.endswith(".py")]
    causes = []
    for candidate, result in broken:
        key = str(candidate.target), _metric(result)
        budgets_then = models_then[key].budgets if key in models_then else ()
        cause = _cause(result, changes(key), budgets_then, past.base)
        if cause.since.endswith(_NEW) and unstaged:  # the count may be that of the working tree
            paths = shlex.join(f":/{path}" for path in unstaged)
            since = f"{cause.since}; perhaps for what is not staged: git add {paths}"
            cause = replace(cause, since=since)
        sources = [at for change in cause.changes if (at := Position.read(change.source))]
        call = getattr(builds_now[key], "call", "")
        causes.append(replace(cause, edited=edits.that_matter(candidate, call, sources)))
    return causes


def _metric(result: BudgetResult) -> str:
    return parse_selector(result.selector).metric


def _builds(
    models: Mapping[_Key, Candidate], source: ProjectSource
) -> tuple[Answers, dict[_Key, Measurement]]:
    """Each with all parameters that its metric counts."""
    orders = [
        (
            replace(model.with_build(device="meta"), budgets=[]),
            Ask(parameters=True, metric=metric),
        )
        for (_, metric), model in models.items()
    ]
    answers = count_models(orders, source)
    return answers, {key: answers.measurements[number] for number, key in enumerate(models)}


def _cause(
    result: BudgetResult,
    changes: ParameterChanges | str,
    budgets_then: Iterable[Budget],
    base: Base,
) -> BudgetCause:
    if isinstance(changes, str):
        return BudgetCause(changes)
    count, differences = changes.of(result.module or "")
    if count is None:
        return BudgetCause(f"it is new: {base.called} does not have it")
    if differences:
        is_met = (result.low or 0) <= count and (result.high is None or count <= result.high)
        too = "" if is_met else ", which broke the budget too"
        since = f"changed since {base.called}, when it had {count:,}{too}"
        return BudgetCause(since, differences, was_met=is_met)
    declaration = result.selector, result.declared
    is_same = any((str(then.selector), then.declared) == declaration for then in budgets_then)
    why = "the budget was broken there too" if is_same else _NEW
    return BudgetCause(f"the model is as it was at {base.called}: {why}")
