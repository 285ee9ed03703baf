"""The answers of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.count.measured import Environment, Measurement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nparam_lint.config.interpreter import Interpreter


class Answers(Struct):
    """The result of a run: measurements by the id of the order, and what the worker reported about
    its interpreter (`devices`: those that are there, where no order was given; `guards`: against
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
        if self.interpreter is None:
            return None
        python, reason = self.interpreter.python, self.interpreter.reason
        return Environment(python, reason, self.torch, tuple(devices), self.guards)

    @property
    def error(self) -> str | None:
        """Why no model can be built at all, in lines; None where models can be."""
        if self.broken is None or self.interpreter is None:
            return None
        python, passed_over = self.interpreter.python, self.interpreter.passed_over
        lines = [
            f"no model can be built with {python}",
            f"  chosen because: {self.interpreter.reason}",
            f"  error: {self.broken}",
            *(
                f"  passed over: {text}"
                for text in passed_over
                if not text.startswith(f"{python} (")
            ),
            *(
                f"  found, but only for a part of the project: {environment}; to check that part: "
                f"nparam-lint {folder}"
                for folder, environment in self.inside.items()
            ),
            "  next: install torch there, or name the interpreter that has it:",
            '        nparam-lint --python PATH, NPARAM_LINT_PYTHON, or python = "…" in the config',
        ]
        return "\n".join(lines)
