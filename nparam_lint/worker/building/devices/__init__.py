"""The devices that models are built on for real: one file each, found by its name (see
docs/extend.md)."""

import importlib

from ....ground import metrics

# name -> module. All are imported with this package: later, the guard would refuse to write their
# bytecode, and the report of the model that is being built would say so.
DEVICES = {name: importlib.import_module("." + name, __name__) for name in metrics.DEVICES}
