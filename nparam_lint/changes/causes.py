"""What made a budget break: its model is built as it was at another state of the project, and
compared by its parameters."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from functools import cache, partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.changes.parameter_changes import ParameterChanges
from nparam_lint.changes.revision_diff import candidates_of_both
from nparam_lint.changes.states import States, in_moved_file, named_base
from nparam_lint.claims import parse_selector
from nparam_lint.config.load import ConfigError
from nparam_lint.config.session import open_session
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.discover.files import list_configs
from nparam_lint.gate.building import count_models
from nparam_lint.gate.hooks import BudgetCause
from nparam_lint.gate.reading import listed, read_source
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.lines import alike, lines_now, lines_of
from nparam_lint.ground.orders import Ask
from nparam_lint.ground.values import Position, SourceLine
from nparam_lint.repository.git import GitError, open_repository

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.changes.records import Base
    from nparam_lint.changes.states import OpenCopy, Past
    from nparam_lint.claims.budget import Budget
    from nparam_lint.config.session import Session
    from nparam_lint.count.answers import Answers
    from nparam_lint.count.measured import Measurement
    from nparam_lint.gate.candidates import Candidate, ProjectSource
    from nparam_lint.gate.hooks import Broken, FindCauses
    from nparam_lint.ground.findings import BudgetResult
    from nparam_lint.repository.git import Repository
    from nparam_lint.repository.snapshot import Snapshot

    _Key = tuple[str, str]  # a target, and a metric

_WORD = re.compile(r"[^\s,()\[\]{}:]+")
_NAME = re.compile(r"[^\W\d]\w*")
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
    except (UsageError, ConfigError):
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
    tree = source.discovery.tree
    edited = cache(lambda file: tuple(_edited(file, source, past)))
    definitions = cache(lambda file: [*_definitions(file, tree.source(file))])

    @cache
    def configs() -> dict[str, re.Pattern[bytes]]:
        """The config files that are not as they were, and how a text names each."""
        return {
            path: re.compile(rb"\b%s\b" % re.escape(PurePosixPath(path).stem).encode())
            for path in listed(source.session, list_configs)
            if edited(path)
        }

    @cache
    def changes(key: _Key) -> ParameterChanges | str:
        """What changed in a model, or why that is not known."""
        then, now = builds_then.get(key), builds_now[key]
        if isinstance(then, NotMeasured):
            return f"at {past.base.called} it could not be built: {then.reason}"
        if then is None or not isinstance(now, Measured):
            return f"it is new: {past.base.called} does not have it"
        return ParameterChanges(then, now, key[1])

    causes = []
    for candidate, result in broken:
        key = str(candidate.target), _metric(result)
        budgets_then = models_then[key].budgets if key in models_then else ()
        cause = _cause(result, changes(key), budgets_then, past.base)
        sources = (Position.read(change.source) for change in cause.changes)
        files = {candidate.position.path, *(at.path for at in sources if at)}
        files = {*(files & tree.files), candidate.target.built.location}
        files |= {candidate.location} if candidate.is_file else set()
        texts = [str(candidate.build).encode(), *map(tree.source, sorted(files))]
        files |= {path for path, name in configs().items() if any(map(name.search, texts))}
        # What they import may be how the difference came about: a default, a width, a base class.
        imported = {*tree.may_run_with(files & tree.files)} - files
        lines = [line for file in sorted(files | imported) for line in edited(file)]
        scope = files | imported if lines else ()
        inside = [d for file in scope for d in definitions(file)]
        names = {*_NAME.findall(f"{candidate.target.built.callable} {candidate.build}")}
        origins = [at for change in cause.changes if (at := Position.read(change.source))]
        names |= {d.name for d in inside if any(map(d.holds, origins))}
        reached = _reached(inside, names)
        matters = []
        for line in lines:  # outside of all definitions only near the model
            around = [d.name for d in inside if d.holds(line.position)]
            if reached.issuperset(around) and (around or line.position.path in files):
                matters.append(line)
        causes.append(replace(cause, edited=tuple(matters)))
    return causes


class _Definition(Struct, frozen=True):
    """A class, function or constant at the top of a file, or a method, which matters where it is
    called. `names`: all words in it, but those of its methods."""

    name: str
    file: str
    first: int
    last: int
    names: frozenset[str]

    def holds(self, at: Position) -> bool:
        return self.file == at.path and self.first <= at.line <= self.last


def _definitions(file: str, source: bytes) -> Iterator[_Definition]:
    body: list[ast.stmt] = []
    with suppress(SyntaxError, ValueError):
        body = ast.parse(source).body if file.endswith(".py") else []
    for node in body:
        defined: list[str] = []
        if isinstance(node, ast.ClassDef):
            for part in [*node.body]:
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("__"):
                    yield _defined(part.name, file, part)
                    node.body.remove(part)
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            defined = [node.name]
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined = [target.id for target in targets if isinstance(target, ast.Name)]
        yield from (_defined(name, file, node) for name in defined)


def _defined(name: str, file: str, node: ast.stmt) -> _Definition:
    names = frozenset(_NAME.findall(ast.unparse(node)))
    decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
    first = min([node.lineno, *decorators])
    return _Definition(name, file, first, node.end_lineno or first, names)


def _reached(definitions: Sequence[_Definition], names: set[str]) -> set[str]:
    """These names, and those in the definitions of what has them."""
    inside: dict[str, set[str]] = {}
    for definition in definitions:
        inside.setdefault(definition.name, set()).update(definition.names)
    waiting, named = [*names], {*names}
    while waiting:
        new = inside.get(waiting.pop(), set()) - named
        named |= new
        waiting += new
    return named


def _edited(path: str, source: ProjectSource, past: Past) -> Iterator[SourceLine]:
    """The lines of a file that are not as they were; comments aside, what stands there for a reader
    alone (a docstring), and lines without a word."""
    try:
        before = (past.session.root / past.moves.back.get(path, path)).read_bytes()
    except OSError:  # it is new
        return
    content = source.discovery.tree.source(path)
    if content == before:
        return
    old, new = lines_of(before), lines_of(content)
    was = {now: old[then - 1] for then, now in lines_now(old, new).items()}
    for_readers: set[int] = set()
    with suppress(SyntaxError, ValueError):
        texts = ast.walk(ast.parse(content)) if path.endswith(".py") else ()
        for node in texts:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                for_readers.update(range(node.lineno, (node.end_lineno or 0) + 1))
    for number, line in enumerate(new, 1):
        is_code = number not in for_readers and not line.lstrip().startswith("#")
        if is_code and was.get(number) != line and _WORD.search(line):
            yield _source_line(Position(path, number), line, was.get(number, ""))


def _source_line(at: Position, text: str, was: str) -> SourceLine:
    """A line of which only the words that differ from what it was are marked."""
    text = text.rstrip()
    same = alike(text, was)
    behind = alike(text[same:][::-1], was[same:].rstrip()[::-1])
    words = [m for m in _WORD.finditer(text) if m.end() > same and m.start() < len(text) - behind]
    words = words or [*_WORD.finditer(text)]  # what was taken out left nothing to mark
    start, end = words[0].start(), words[-1].end()
    return SourceLine(replace(at, column=start + 1), text, end - start)


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
        return BudgetCause(f"changed since {base.called}, when it had {count:,}{too}", differences)
    declaration = result.selector, result.declared
    is_same = any((str(then.selector), then.declared) == declaration for then in budgets_then)
    why = "the budget was broken there too" if is_same else "the budget is new or was changed"
    return BudgetCause(f"the model is as it was at {base.called}: {why}")
