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
    answers = machines.ask(*call_of(f"{remote_group.__name__}:describe", python))
    machine_facts: dict[str, dict[str, str]] = {}
    for name, facts in sorted(answers.items()):
        if isinstance(facts, ModuleNotFoundError) and (facts.name or "").startswith("nparam_lint"):
            raise UsageError(
                f"the machine {name} has no nparam-lint, expected {__version__}\n"
                f"next: pip install nparam-lint=={__version__} there, where its worker runs"
            )
        if not isinstance(facts, dict):
            raise UsageError(f"the machine {name} cannot be asked: {type(facts).__name__}: {facts}")
        if why := why_unfit(f"{facts.get('host')} ({name})", facts, machine_facts):
            raise UsageError(why)
        machine_facts[f"{facts['host']} ({name})"] = facts
    return machine_facts


def interpreter_at(address: str, python: str | None) -> Interpreter:
    """The interpreter of the machines there, for a report. Raises UsageError as above."""
    machine_facts = interpreters(address, python)
    pythons = dict.fromkeys(facts["interpreter"] for facts in machine_facts.values())
    reason = f"{address}, {len(machine_facts)} machine{'s' * (len(machine_facts) != 1)}"
    return Interpreter(", ".join(pythons) or "an interpreter there", reason)


def why_unfit(
    name: str, facts: Mapping[str, Any], other_machines: Mapping[str, Mapping[str, Any]]
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
    for other_name, other_facts in other_machines.items():
        for what in ("python", "torch"):
            version, other_version = facts.get(what), other_facts.get(what)
            if version != other_version:
                title = what.replace("python", "Python")
                return (
                    f"{has} {title} {version} ({python}), but {other_name} has {title} "
                    f"{other_version} ({other_facts.get('interpreter')}); counts of both would be "
                    f"mixed\nnext: install the same version on both, {step}"
                )
    return None
