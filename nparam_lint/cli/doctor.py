"""`nparam-lint doctor`: which interpreter, torch and config are used, and why."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from nparam_lint.cache.housekeeping import survey, trouble
from nparam_lint.cli import common
from nparam_lint.config.projects import environments_inside
from nparam_lint.config.settings import LOCAL, Settings
from nparam_lint.count import remote_machines, resident
from nparam_lint.count.run import limits, run_orders
from nparam_lint.ground.metrics import DEVICE_NAMES, LADDER
from nparam_lint.ground.version import __version__
from nparam_lint.report.style import human_bytes, plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.config.session import Session

USAGE = "nparam-lint doctor [options]"
DESCRIPTION = "Print which interpreter, torch, devices and config are used, and why."


def add_arguments(parser: ArgumentParser) -> None:
    common.add_building(parser)


def run(options: Namespace) -> int:
    session = common.session_for(options, Path.cwd())
    settings, root = session.settings, session.root
    if settings.on != LOCAL:
        return _tell_machines(settings)
    session = session.with_interpreter()
    interpreter, limit = session.interpreter, limits(settings)
    assert interpreter is not None
    answers = run_orders(session, frozenset(), [])
    inside = environments_inside(session)
    no_config = "none (optional: [tool.nparam-lint] in pyproject.toml)"
    names = DEVICE_NAMES[1:]
    absent = [name for name in names if name not in answers.devices]
    usable = ", ".join(name for name in names if name in answers.devices or name in LADDER)
    memory = f"{limit['memory'] >> 20:,} MB"
    cache = "not used: --no-cache"
    if not options.no_cache:
        fault, base = trouble(session.store), session.store.base
        cache = f"none: {fault}"
        if base is not None and not fault:
            content = survey(base)
            count = plural(len(content.files), "file")
            cache = f"{base}: {human_bytes(content.size)} in {count}, of all projects"
    rows = [
        ("nparam-lint", f"{__version__} ({sys.executable})"),
        ("project", root),
        ("config", settings.config or no_config),
        ("budgets", f"{len(settings.budgets)} in the config"),
        ("python", interpreter.python),
        ("because", interpreter.reason),
        *(("passed over", text) for text in interpreter.passed_over),
        *(("inside", f"{place} builds the models in {folder}") for folder, place in inside.items()),
        ("python version", answers.python or "?"),
        ("torch", answers.torch or f"cannot be imported: {answers.broken}"),
        ("devices", f"{usable}; not {', '.join(absent)}" if absent else usable),
        ("guards", ", ".join(answers.guards) or "?"),
        ("limits", f"{settings.timeout:g} s and {memory} per model, {limit['jobs']} at a time"),
        ("cache", cache),
        *(("resident", text) for text in _residents(session)),
    ]
    for name, value in rows:
        print(f"{name:<15} {value}")
    if answers.torch is None:
        print("\nnext: install torch there, or name the interpreter that has it with --python PATH")
        return 2
    return 0


def _residents(session: Session) -> Iterator[str]:
    """The workers that stay between runs."""
    if session.settings.resident and not resident.IS_POSSIBLE:
        yield resident.IMPOSSIBLE
        return
    staying = [*resident.all_of(session.environ)]
    for process in staying:
        age, idle = (f"{seconds / 60:.0f} minutes" for seconds in (process.age, process.idle))
        packages = plural(process.packages, "module")
        size = f"{human_bytes(process.memory)}, {packages} of packages"
        yield f"process {process.pid}: {size}; for {age}, without a run for {idle}"
    if session.settings.resident and not staying:
        yield "none: the next run that builds a model starts one"


def _tell_machines(settings: Settings) -> int:
    """Print the machines that build the models, each with its versions. Raises UsageError where one
    of them cannot."""
    machines = remote_machines.interpreters(settings.on, settings.remote_python)
    print(f"{'machines':<15} {len(machines)} at {settings.on}")
    for name, facts in machines.items():
        versions = f"nparam-lint {facts['nparam_lint']}, Python {facts['python']}"
        print(f"{'':<15} {name}: {versions}, torch {facts['torch']} ({facts['interpreter']})")
    if not machines:
        print("\nnext: start workers there")
    return 0 if machines else 2
