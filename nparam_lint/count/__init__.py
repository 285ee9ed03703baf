"""Builds and counts models: finds the interpreter, runs the worker in it, reads the answers.

`nparam_lint.count(model)` is a function of the API, and Python gives its name to this package as
soon as anything imports it: so the package can be called, too.
"""

from __future__ import annotations

import sys
from importlib import import_module


class _Callable(type(sys)):  # type: ignore[misc]
    def __call__(self, *arguments: object, **options: object) -> object:
        return import_module("nparam_lint.api.counts").count(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
