"""The environment as Python code sees it: each variable that it asks for is noted.

C code sees the process's own environment, which has only what it may depend on. The others of the
user are in `os.environ` alone.
"""

from __future__ import annotations

import collections.abc
import os
import sys

from ..state import STATE

ALL = "*"  # stands for the whole environment
# Files of libraries that list it, and how the names begin of which they take notice: one fact
# stands for all of these.
_LISTERS = {
    "/tqdm/utils.py": "TQDM_",
    "/fsspec/config.py": "FSSPEC",
    "/wandb_settings.py": "WANDB_",
}
# The files of the code between them and the environment.
_INNER = {
    __file__,
    os.getenv.__code__.co_filename,
    collections.abc.Mapping.get.__code__.co_filename,
}
_overwritten = set()  # names that code has set or deleted: their values are no longer the user's


def note(name):
    """Record that a variable is asked for, whether or not there is one."""
    name = os.fsdecode(name) if isinstance(name, bytes) else name
    if not isinstance(name, str) or name in _overwritten:
        return
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename in _INNER:
        frame = frame.f_back
    path = frame.f_code.co_filename.replace("\\", "/") if frame else ""
    name = next((start + "*" for end, start in _LISTERS.items() if path.endswith(end)), name)
    facts = STATE.record.inputs().facts
    if ("env", ALL) not in facts:
        facts.setdefault(("env", name), None)


class AskedEnviron(os._Environ):
    """`os.environ`, and `os.environb`, which notes what it is asked for."""

    def __getitem__(self, key):
        note(key)
        return super().__getitem__(key)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        _overwritten.add(os.fsdecode(key))

    def __delitem__(self, key):
        note(key)  # it fails where there is none
        super().__delitem__(key)
        _overwritten.add(os.fsdecode(key))

    def __iter__(self):
        note(ALL)
        return super().__iter__()

    def __len__(self):
        note(ALL)
        return super().__len__()

    def __repr__(self):
        note(ALL)
        return super().__repr__()

    def __reduce_ex__(self, protocol):  # copy.deepcopy
        note(ALL)
        return super().__reduce_ex__(protocol)


def begin(variables):
    """Add the variables that only Python code sees, and note from now on what is asked for."""
    for name, value in variables.items():
        os.environ._data.setdefault(os.environ.encodekey(name), os.environ.encodevalue(value))
    os.environ.__class__ = AskedEnviron
    if os.supports_bytes_environ:
        os.environb.__class__ = AskedEnviron


def contents():
    """All variables as they are, without noting that; for comparison. Without those that OpenMP's
    packages set for it when they are imported."""
    return {k: v for k, v in os.environ._data.items() if os.environ.decodekey(k)[:4] != "KMP_"}


def variables():
    """The same, by name: for a process that is started with them."""
    values = os.environ._data.items()
    return {os.environ.decodekey(k): os.environ.decodevalue(v) for k, v in values}
