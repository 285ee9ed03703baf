"""The devices that models are built on: one file each, found by its name (see docs/extend.md)."""

from __future__ import annotations

import importlib

from ... import capabilities

# name -> module. All are imported with this package: later, the guard would refuse to write their
# bytecode, and the report of the model that is being built would say so.
DEVICES = {name: importlib.import_module("." + name, __name__) for name in capabilities.DEVICES}


def devices_to_compare(wanted):
    """name -> module, of the devices on which a model is built once more, for real: the one that is
    `wanted`; for "auto" those that say so themselves."""
    if wanted == "auto":
        return {name: device for name, device in DEVICES.items() if device.IS_AUTOMATIC}
    device = DEVICES.get(wanted)
    return {} if device is None or not device.IS_REAL else {wanted: device}
