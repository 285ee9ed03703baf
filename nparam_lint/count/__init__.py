"""Builds and counts models: finds the interpreter, runs the worker in it, reads the answers.

`nparam_lint.count(model)` is a function of the API, and Python gives its name to this package as
soon as anything imports it: so the package can be called, too.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Counts = Any  # of the API, which is above this room; the package itself says it more exactly


class _Callable(type(sys)):  # type: ignore[misc]
    def __call__(self, model: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Counts:
        return import_module("nparam_lint.api.counts").count(model, *args, **kwargs)


sys.modules[__name__].__class__ = _Callable
