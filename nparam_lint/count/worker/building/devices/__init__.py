"""The devices that models are built on: one file each, found by its name (see docs/extend.md)."""

from __future__ import annotations

import importlib
import os


def load_device(name):
    """The module of a device; None where there is no file of that name."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py")
    return importlib.import_module("." + name, __name__) if os.path.isfile(path) else None


def all_devices():
    """name -> module, of all devices, by name."""
    files = sorted(os.listdir(os.path.dirname(os.path.abspath(__file__))))
    names = [file[: -len(".py")] for file in files if file.endswith(".py") and file[0] != "_"]
    return {name: load_device(name) for name in names}


def devices_to_compare(wanted):
    """name -> module, of the devices on which a model is built once more, for real: the one that is
    `wanted`; for "auto" those that say so themselves."""
    if wanted == "auto":
        return {name: device for name, device in all_devices().items() if device.IS_AUTOMATIC}
    device = load_device(wanted)
    return {} if device is None or not device.IS_REAL else {wanted: device}
