"""The worker's process: from its orders to its end."""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import sys

from ..building.device_ladder import patch_initialisers
from ..building.devices import DEVICES
from ..building.side_effect_guard import guard_file_writer
from ..building.source_loader import install_loader, relax_argparse
from ..path_facts import fact
from ..state import STATE
from ..torch_compat import wrap_file_writer
from ..tracing.dependency_record import DependencyRecord
from ..tracing.failures import describe
from ..tracing.project_paths import OWN, is_within
from ..tracing.read_tracer import installation
from .channel import Channel
from .children import ADOPT_ORPHANS, CAN_FORK, DIE_WITH_PARENT, prctl
from .groups import GroupTask
from .server import Server

PROTOCOL = 4


def take_standard_streams():
    """(descriptor of the orders, of the channel): the streams of this process are taken for
    ourselves; user code gets an empty input and an output that is not the channel."""
    orders, channel = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return orders, channel


def read_request(orders):
    """What to do, as the front end writes it; None when it went away without a word."""
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(orders, 1 << 16)
        if not data:
            return None
        line += data
    return json.loads(line)


def import_torch():
    # transformers, timm and others print advice at import; warnings of theirs help nobody here.
    import warnings

    warnings.simplefilter("ignore")
    # Each process builds on one core, several at a time. Threads would also make forking unsafe.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    gc.disable()  # hardly anything of it is garbage, and to look for that takes 7 % of the time
    try:
        import torch
    finally:
        gc.enable()
    patch_initialisers(torch)
    wrap_file_writer(torch, guard_file_writer)
    return torch


def present_devices(torch):
    """The names of the devices that are there."""
    return [name for name, device in DEVICES.items() if device.why_absent(torch) is None]


def main():
    orders, descriptor = take_standard_streams()
    faulthandler.enable()
    failure = torch = None
    if "--group" in sys.argv:
        prctl(DIE_WITH_PARENT, 9)
    else:
        # Not DIE_WITH_PARENT: the end of our orders tells us, and then there is cleaning to do.
        prctl(ADOPT_ORPHANS, 1)
    sites = installation()
    try:  # before we know what to do: the front end may still be reading
        torch = import_torch()
    except BaseException as error:
        failure = error
    request = read_request(orders)
    if request is None:
        os._exit(0)
    settings = request["settings"]
    channel = Channel(descriptor, settings["nonce"])
    STATE.begin_run(settings, OWN)
    STATE.record = DependencyRecord()
    install_loader()
    relax_argparse()
    if failure is not None:
        channel.send(event="no torch", reason=describe(failure), python=sys.executable)
        os._exit(0)
    if "--group" in sys.argv:
        task = GroupTask(request["jobs"], settings, torch, request["files"], request["splits"])
        task.run(channel, None)
        channel.send(event="done")
        os._exit(0)
    kept = None
    while request is not None:
        STATE.begin_run(request["settings"], OWN)
        channel.send(
            event="ready",
            protocol=PROTOCOL,
            torch=str(torch.__version__),
            python=sys.executable,
            version=".".join(map(str, sys.version_info[:3])),
            devices=present_devices(torch) if request.get("probe") else None,
            sites={fact("state", p): state for p, state in sites.items() if not is_within(p)},
        )
        gc.freeze()
        kept = Server(request, channel, torch, kept).run(orders)
        request = read_request(orders) if CAN_FORK else None
    if kept:
        kept.end()
    os._exit(0)  # nothing is left to clean up; to take torch down takes longer than many a build
