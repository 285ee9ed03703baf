"""Formats whose modules are imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy(package: str, module: str) -> Callable[[Any, Any], str]:
    """`render(found, options)` of a module of a package of formats."""

    def render(found: Any, options: Any) -> str:
        text: str = import_module(f"{package}.{module}").render(found, options)
        return text

    return render
