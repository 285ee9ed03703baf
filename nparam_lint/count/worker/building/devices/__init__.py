"""The devices that models are built on for real: one file each, found by its name (see
docs/extend.md)."""

from __future__ import annotations

import importlib
import os

_FILES = sorted(os.listdir(os.path.dirname(os.path.abspath(__file__))))
_NAMES = [file[: -len(".py")] for file in _FILES if file.endswith(".py") and file[0] != "_"]
# name -> module. All are imported with this package: later, the guard would refuse to write their
# bytecode, and the report of the model that is being built would say so.
DEVICES = {name: importlib.import_module("." + name, __name__) for name in _NAMES}


def devices_to_compare(wanted):
    """name -> module, of the devices on which a model is built once more, for real: the one that is
    `wanted`; for "auto" those that say so themselves."""
    return {
        name: device
        for name, device in DEVICES.items()
        if name == wanted or (wanted == "auto" and device.IS_AUTOMATIC)
    }
