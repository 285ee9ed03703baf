"""Models that are to be built, and the answers of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from nparam_lint.count.measured import Environment, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nparam_lint.config.interpreter import Interpreter
    from nparam_lint.discover.definitions import ImportAttempt
    from nparam_lint.ground.values import NameValue


@dataclass(frozen=True, slots=True)
class Job:
    """One call to build. `file`: the defining file below the root, or None for an installed
    module; `attempts`: ways to import it. `callable` and `arguments`, or `setup` and `call`, say
    what to build, and where `callable` is empty the call alone; `names`: what its formulas ask for;
    `input`: shapes lazy parameters; `experts_per_token`: how many experts of a mixture a token
    uses, where declared; `device`: meta, or another as well, or "meta only" where none is to be
    tried after it; `vary`: other
    values for arguments of the call, or for fields of the config object that is made in it;
    `change`: the same, times a number and plus another, or the next prime from there on;
    `parameters`, `variables`: whether these are to be told too; `metric`: which counts the
    parameters and buffers that are told; `origins`: where each was made is told of traced ones,
    too; `points`: values of arguments at which it is also built with traced numbers, none of which
    is begun after so many `seconds`; an empty one for the values in the call of its `names`, if
    these are `variables`; `way`: it is evidence of how the project builds a model: its setup may
    set names of the file, and weights are left out rather than downloaded."""

    id: int
    label: str
    file: str | None
    attempts: tuple[ImportAttempt, ...]
    callable: str
    arguments: str | None = None
    setup: str | None = None
    call: str | None = None
    input: str | None = None
    experts_per_token: int | None = None
    device: str = "meta"
    names: tuple[str, ...] = ()
    parameters: bool = False
    metric: str = "total"
    origins: bool = False
    vary: tuple[tuple[str, NameValue], ...] = ()
    change: tuple[tuple[str, int, int | None], ...] = ()
    variables: bool = False
    points: tuple[tuple[tuple[str, NameValue], ...], ...] = ()
    seconds: float = 0.0
    way: bool = False


@dataclass(slots=True)
class Answers:
    """The result of a run: measurements by job id, and what the worker reported about its
    interpreter (`devices`: those that are there, where no job was given; `guards`: against
    accidents). `broken`: why nothing at all could be measured (no torch), else None. To be added
    by who chose it: the `interpreter`; and if that is broken, `inside`: the directories of the
    project with their own environments, and these environments."""

    measurements: dict[int, Measurement] = field(default_factory=dict)
    torch: str | None = None
    python: str | None = None
    devices: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    broken: str | None = None
    interpreter: Interpreter | None = None
    inside: Mapping[str, str] = field(default_factory=dict)

    def environment(self, devices: Iterable[str]) -> Environment | None:
        """The interpreter, for a report. `devices`: those on which something was measured."""
        if (found := self.interpreter) is None:
            return None
        return Environment(found.python, found.reason, self.torch, tuple(devices), self.guards)

    @property
    def error(self) -> str | None:
        """Why no model can be built at all, in lines; None where models can be."""
        if self.broken is None or self.interpreter is None:
            return None
        python, passed_over = self.interpreter.python, self.interpreter.passed_over
        return "\n".join(
            (
                f"no model can be built with {python}",
                f"  chosen because: {self.interpreter.reason}",
                f"  error: {self.broken}",
                *(
                    f"  passed over: {text}"
                    for text in passed_over
                    if not text.startswith(f"{python} (")
                ),
                *(
                    f"  found, but only for a part of the project: {environment}; to check that "
                    f"part: nparam-lint {folder}"
                    for folder, environment in self.inside.items()
                ),
                "  next: install torch there, or name the interpreter that has it:",
                '        nparam-lint --python PATH, NPARAM_LINT_PYTHON, or python = "…" in the'
                " config",
            )
        )
