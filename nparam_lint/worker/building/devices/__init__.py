"""The devices that models are built on for real: one file each, found by its name (see
docs/extend.md)."""

import importlib
import os
import time

from ....ground import metrics
from ...state import STATE

try:
    import fcntl
except ImportError:  # Windows, where one model is built after the other
    fcntl = None

# name -> module. All are imported with this package: later, the guard would refuse to write their
# bytecode, and the report of the model that is being built would say so.
DEVICES = {name: importlib.import_module("." + name, __name__) for name in metrics.DEVICES}


def take_turn(name, is_alone, tell_alive):
    """Wait until the models that other processes of this run build on the device of this name leave
    room. It lasts until this process ends, and with it what it holds there. `is_alone`: nobody may
    build there at the same time."""
    if fcntl is None:
        return
    path = os.path.join(STATE.temporary, name + ".lock")
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC)
    way = fcntl.LOCK_EX if is_alone else fcntl.LOCK_SH
    while True:
        try:
            fcntl.flock(file, way | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            tell_alive()
            time.sleep(0.1)
