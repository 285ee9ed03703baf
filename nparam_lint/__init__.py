"""nparam-lint: checks the parameter counts that a repository claims for its PyTorch models.

nparam_lint.count(model)                          counts of a model in this process
nparam_lint.assert_nparams(model, "124M ± 1%")    for tests
nparam_lint.check("nets")                         the budgets of a project
"""

from __future__ import annotations

import nparam_lint.ground.late  # noqa: F401  before anything else is imported

TYPE_CHECKING = False
__all__ = [
    "Counts",
    "Finding",
    "ModuleRow",
    "ParameterRow",
    "Report",
    "UsageError",
    "__version__",
    "assert_nparams",
    "check",
    "count",
]
# Where each is, for most runs of a hook need none of them; `count` is a package that can be called.
_HOMES = {
    "Counts": "api.counts",
    "Finding": "ground.findings",
    "ModuleRow": "count.measured",
    "ParameterRow": "count.measured",
    "Report": "gate.report",
    "UsageError": "ground.errors",
    "__version__": "ground.version",
    "assert_nparams": "api.checks",
    "check": "api.checks",
}

if TYPE_CHECKING:
    from nparam_lint.api.checks import assert_nparams, check
    from nparam_lint.api.counts import Counts, count
    from nparam_lint.count.measured import ModuleRow, ParameterRow
    from nparam_lint.gate.report import Report
    from nparam_lint.ground.errors import UsageError
    from nparam_lint.ground.findings import Finding
    from nparam_lint.ground.version import __version__
else:

    def __getattr__(name: str) -> object:
        """What is public, on first use: a run that finds nothing changed needs none of it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        home = import_module(f"nparam_lint.{_HOMES.get(name, name)}")
        value = globals()[name] = getattr(home, name) if name in _HOMES else home
        return value
