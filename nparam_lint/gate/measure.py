"""Requests → answers: builds and counts the models in the project's own interpreter."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.count.interpreter import Interpreter, NoInterpreter, find_interpreter, watched
from nparam_lint.count.run_jobs import Answers, BuildContext, Job, Limits, default_memory, run_jobs
from nparam_lint.count.worker_process import start_early
from nparam_lint.records import ImportAttempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.claims.notation import Target
    from nparam_lint.config.settings import Settings
    from nparam_lint.discover import Discovery
    from nparam_lint.gate.requests import ModelRequest

    Progress = Callable[[int, int, str], None]  # done, all, the label of the last one


@dataclass(frozen=True, slots=True)
class RunContext:
    """What one run builds with. `interpreter`: None is the one that the settings lead to."""

    settings: Settings
    environ: Mapping[str, str]
    progress: Progress | None = None
    interpreter: Interpreter | None = None


@dataclass(frozen=True, slots=True)
class CountResult:
    """What the worker answered, by the number of the request, and the interpreter that it ran in;
    None where nothing was to be built."""

    answers: Answers = field(default_factory=Answers)
    interpreter: Interpreter | None = None

    @property
    def error(self) -> str | None:
        """Why no model can be built at all, in lines; None where models can be."""
        if self.answers.broken is None or self.interpreter is None:
            return None
        python = self.interpreter.python
        return "\n".join(
            (
                f"no model can be built with {python}",
                f"  chosen because: {self.interpreter.reason}",
                f"  it says: {self.answers.broken}",
                *(
                    f"  passed over: {text}"
                    for text in self.interpreter.passed_over
                    if not text.startswith(f"{python} (")
                ),
                "  next: install torch there, or name the interpreter that has it:",
                '        nparam-lint --python PATH, NPARAM_LINT_PYTHON, or python = "…" in the'
                " config",
            )
        )


def start_worker_early(context: RunContext) -> None:
    """Start the worker before its work is known, so that it imports torch meanwhile. Only where
    nothing is remembered of the project: then there is work for certain."""
    folder = context.settings.store.folder
    if not folder or not Path(folder).is_dir():
        with suppress(NoInterpreter):  # reported when the interpreter is needed
            interpreter = _interpreter(context)
            if interpreter.has_torch:
                start_early(interpreter.python, context.environ)


def count_models(
    requests: Sequence[ModelRequest],
    found: Discovery,
    context: RunContext,
    meanwhile: Callable[[], None] = lambda: None,
) -> CountResult:
    """Build and count every request; `meanwhile` is called while the worker is busy.

    Raises NoInterpreter where the settings name an interpreter that does not exist.
    """
    if not requests:
        meanwhile()
        return CountResult()
    settings = context.settings
    interpreter = context.interpreter or _interpreter(context)
    if settings.replay_inputs:
        unread = watched(interpreter)
        settings.replay_inputs.unread.update(unread or ())
        settings.replay_inputs.is_complete = (
            settings.replay_inputs.is_complete and unread is not None
        )
    plans = {r.target.location: _import_attempts(r.target, settings.root, found) for r in requests}
    found.tree.remember()  # what the plans asked of files that nothing else looked into
    jobs = [_job(n, r, settings, plans[r.target.location]) for n, r in enumerate(requests)]
    names = {part.removesuffix(".py") for path in found.tree.files for part in path.split("/")}
    builds = BuildContext(
        interpreter.python,
        settings.root,
        context.environ,
        limits(settings),
        tuple(names),
        settings.snapshot,
        settings.store,
    )
    answers = run_jobs(builds, jobs, context.progress, settings.replay_inputs, meanwhile)
    return CountResult(answers, interpreter)


def limits(settings: Settings) -> Limits:
    """The limits of the settings; by default half of the memory, and a builder for each core."""
    memory = default_memory() if settings.memory is None else settings.memory
    return Limits(settings.timeout, memory, settings.jobs or _cores())


def _interpreter(context: RunContext) -> Interpreter:
    settings = context.settings
    return find_interpreter(settings.home, settings.python, settings.python_from, context.environ)


def _cores() -> int:
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:
        return os.cpu_count() or 1


def _import_attempts(target: Target, root: Path, found: Discovery) -> tuple[ImportAttempt, ...]:
    """The ways to import what a target's location names."""
    if not target.is_path:
        roots = ("", "src") if (root / "src").is_dir() else ("",)
        return (ImportAttempt(target.location, roots),)
    plan = found.plan(target.location)
    return plan or (ImportAttempt(Path(target.location).stem, ("",)),)


def _job(
    number: int, request: ModelRequest, settings: Settings, attempts: tuple[ImportAttempt, ...]
) -> Job:
    target, recipe = request.target, request.recipe
    names = {name for budget in request.budgets for name in budget.value.names}
    return Job(
        id=number,
        label=str(target),
        file=target.location if target.is_path else None,
        attempts=attempts,
        callable=target.callable,
        arguments=recipe.arguments,
        setup=recipe.setup,
        call=recipe.call,
        input=recipe.input,
        experts_per_token=recipe.experts_per_token,
        device=request.device or settings.for_file(target.location).device,
        names=tuple(sorted(names)),
        parameters=request.parameters or bool(names),  # they show which term a formula lacks
        vary=tuple(request.values.items()),
        scale=tuple(request.factors.items()),
        variables=request.variables,
    )
