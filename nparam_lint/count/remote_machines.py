"""The machines at an address, and whether all of them can build models in the same way."""

from __future__ import annotations

import atexit
from typing import TYPE_CHECKING, Any

from nparam_lint.config.interpreter import Interpreter
from nparam_lint.count import remote_group
from nparam_lint.count.engines import call_of, connect
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nparam_lint.count.engines import Machines


_open: dict[str, Machines] = {}


def machines_at(address: str) -> Machines:
    """The machines at an address; the connection stays open for the runs that follow. Raises
    UsageError."""
    machines = _open.get(address)
    if machines is None or machines.why_lost():
        machines = _open[address] = connect(address)
        atexit.register(machines.shutdown, wait=False)
    return machines


def interpreters(address: str, python: str | None) -> dict[str, dict[str, str]]:
    """What each machine says of itself, by name: see `remote_group.describe`. `python`: how the
    interpreter is called there; None: the one that each machine names.

    Raises UsageError where one of them cannot build models, or not in the same versions."""
    machines = machines_at(address)
    asked = machines.ask(*call_of(f"{remote_group.__name__}:describe", python))
    found: dict[str, dict[str, str]] = {}
    for name, facts in sorted(asked.items()):
        if not isinstance(facts, dict):
            raise UsageError(_not_installed(name, facts))
        if why := why_unfit(f"{facts.get('host')} ({name})", facts, found):
            raise UsageError(why)
        found[f"{facts['host']} ({name})"] = facts
    return found


def interpreter_at(address: str, python: str | None) -> Interpreter:
    """The interpreter of the machines there, for a report. Raises UsageError as above."""
    found = interpreters(address, python)
    pythons = dict.fromkeys(facts["interpreter"] for facts in found.values())
    reason = f"{address}, {len(found)} machine{'s' * (len(found) != 1)}"
    return Interpreter(", ".join(pythons) or "an interpreter there", reason)


def _not_installed(name: str, error: object) -> str:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("nparam_lint"):
        return (
            f"the machine {name} has no nparam-lint, expected {__version__}\n"
            f"next: pip install nparam-lint=={__version__} there, where its worker runs"
        )
    return f"the machine {name} cannot be asked: {type(error).__name__}: {error}"


def why_unfit(
    name: str, facts: Mapping[str, Any], others: Mapping[str, Mapping[str, Any]]
) -> str | None:
    """Why a machine cannot build models beside the others; None where it can."""
    has, step = f"the machine {name} has", "or leave that machine out"
    if facts.get("nparam_lint") != __version__:
        return (
            f"{has} nparam-lint {facts.get('nparam_lint')}, expected {__version__}, as here\n"
            f"next: pip install nparam-lint=={__version__} there, {step}"
        )
    if facts.get("fault"):
        return f"the machine {name} cannot build models: {facts['fault']}"
    python = facts.get("interpreter")
    if not facts.get("torch"):
        return (
            f"{has} no torch in {python}\nnext: install it there, or name the interpreter that has "
            "it: --remote-python PATH, or NPARAM_LINT_PYTHON in the environment of its worker"
        )
    for other, theirs in others.items():
        for what in ("python", "torch"):
            if facts.get(what) != theirs.get(what):
                title = what.replace("python", "Python")
                return (
                    f"{has} {title} {facts.get(what)} ({python}), but {other} has {title} "
                    f"{theirs.get(what)} ({theirs.get('interpreter')}); counts of both would be "
                    f"mixed\nnext: install the same version on both, {step}"
                )
    return None
