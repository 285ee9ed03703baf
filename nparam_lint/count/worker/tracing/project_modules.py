"""Which of the modules that are imported are the project's."""

from __future__ import annotations

import os
import sys

from ..state import STATE
from .project_paths import is_project


def file_of(name):
    """The file of the module that has a name now, as the module says; None where it says none."""
    return getattr(sys.modules.get(name), "__file__", None)


def project_file(name):
    """The same, where it is one of the project's files; else None."""
    path = file_of(name)
    return path if path and is_project(path) else None


def is_ours(module):
    if module is sys.modules["__main__"]:
        return False
    path = getattr(module, "__file__", None)
    if path:  # torch.ops calls itself "_ops.py"
        return os.path.isabs(path) and is_project(os.path.realpath(path))
    try:  # a namespace package
        return any(is_project(os.path.realpath(p) + os.sep) for p in list(module.__path__))
    except Exception:
        return False


def may_be_ours(name):
    """Whether a module at the top is, or could be found to be, the project's."""
    if name in STATE.names:
        return True
    module = sys.modules.get(name)
    if module is None:
        return False
    known = STATE.project_packages.get(name)
    if known is None or known[0] is not module:
        known = STATE.project_packages[name] = module, is_ours(module)
    return known[1]


def project_modules():
    return [module for module in list(sys.modules.values()) if is_ours(module)]


def upwards(path):
    """A dotted path and all those above it, up to the root ""."""
    while path:
        yield path
        path = path.rpartition(".")[0]
    yield ""
