"""The worker's first process: it imports torch, and forks a server for each run."""

import contextlib
import faulthandler
import gc
import json
import os
import signal
import sys
import warnings

from ..building.device_ladder import make_mode, patch_initialisers
from ..building.kernel_guard import prctl
from ..building.plain_gpu import patch_questions
from ..building.project_import import install_loader, relax_argparse
from ..building.side_effect_guard import guard_file_reader, guard_file_writer
from ..state import STATE
from ..torch_compat import (
    Originals,
    defer_compiler,
    number_devices,
    wrap_construction,
    wrap_file_readers,
    wrap_file_writer,
)
from ..tracing import environment
from ..tracing.constructions import note_construction, note_copy
from ..tracing.dependency_record import DependencyRecord
from ..tracing.failures import describe
from ..tracing.project_paths import OWN, find_libraries
from ..tracing.read_tracer import installation
from . import events
from .children import (
    ADOPT_ORPHANS,
    CAN_FORK,
    DIE_WITH_PARENT,
    Channel,
    forked_life,
    use_large_pages,
)
from .groups import Importer
from .lifecycle import Files, Job
from .server import Server, guard_process
from .supervision import reap_strays


def take_standard_streams():
    """(the orders, the descriptor of the channel): the worker keeps the streams of this process for
    itself; user code gets an empty input and an output that is not the channel."""
    orders, channel = os.fdopen(os.dup(0), "rb"), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return orders, channel


def read_request(orders):
    """The request, as the front end writes it; None if the front end ended without one."""
    line = orders.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def begin_request(orders):
    """The request that comes next, whose run begins; the process ends where none comes."""
    request = read_request(orders)
    if request is None:
        os._exit(0)
    STATE.begin_run(request["settings"], OWN)
    return request


def import_torch():
    # transformers, timm and others print advice at import; their warnings are of no use here.
    warnings.simplefilter("ignore")
    # Each process builds on one core, several at a time. Threads would also make forking unsafe.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Hardly anything of what is imported is garbage; to look for that takes a third of the time to
    # import torch and timm, and what it finds of models is not worth the copies of pages.
    gc.disable()
    import torch

    patch_initialisers(torch)
    defer_compiler(torch)
    number_devices(torch)
    patch_questions(torch)
    wrap_file_writer(torch, guard_file_writer)
    wrap_file_readers(torch, guard_file_reader)
    wrap_construction(torch, note_construction, note_copy)
    make_mode(torch)
    return torch


class ServerProcess:
    """A server, forked for runs with the same settings. It takes their requests one after the
    other, and tells after each whether a process waits that has imported what it asked for of the
    project."""

    def __init__(self, settings, channel, torch, sites, alive):
        self.settings = settings
        requests, self.requests = os.pipe()
        self.reports, reports = os.pipe()
        self.pid = os.fork()
        if self.pid:
            os.close(requests)
            os.close(reports)
            return
        os.close(self.requests)
        os.close(self.reports)
        prctl(DIE_WITH_PARENT, 9)
        channel = Channel(channel.descriptor, channel.nonce)
        with forked_life():
            guard_process(torch)
            server = Server(settings, torch, sites)
            with os.fdopen(requests, "rb") as lines:
                for line in lines:
                    server.run(json.loads(line), channel, alive)
                    os.write(reports, b"idle" if server.idle else b"done")

    def run(self, request):
        """What it tells at the end of a request; nothing where it has not come to that."""
        data = memoryview(json.dumps(request).encode() + b"\n")
        with contextlib.suppress(BrokenPipeError):
            while data:
                data = data[os.write(self.requests, data) :]
        return os.read(self.reports, 4)

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.requests)
        os.close(self.reports)
        reap_strays([])


def serve(orders, channel, torch, sites, request):
    """Answer the requests until there is none any more."""
    server, alive = None, orders.fileno()
    while request is not None:
        settings = request["settings"]
        if server and server.settings != settings:
            server.end()
            server = None
        STATE.begin_run(settings, OWN)
        server = server or ServerProcess(settings, channel, torch, sites, alive)
        report = server.run(request)
        if not report:
            os._exit(1)  # the front end is told by the end of the channel
        if report != b"idle":
            server.end()
            server = None
        request = read_request(orders)
    if server:
        server.end()


def stay(torch, sites, listener, request):
    """The streams of a check, in a host that is forked for it from this process, which stays."""
    from .resident import Resident

    guard_process(torch)
    process = Resident(listener, sites, request["minutes"], request["lifeline"])
    process.import_packages(request["packages"])
    return process.serve()


def main():
    orders, descriptor = take_standard_streams()
    faulthandler.enable()
    first = read_request(orders)
    if first is None:
        os._exit(0)
    STATE.record = DependencyRecord()
    environment.begin(first["environ"])
    failure = torch = None
    is_group = "--group" in sys.argv
    # The first process: the end of its orders tells it, and then there is cleaning to do.
    prctl(*((DIE_WITH_PARENT, 9) if is_group else (ADOPT_ORPHANS, 1)))
    sites = installation()
    listener = None
    if stays := "--resident" in sys.argv:  # of Linux alone, and nobody else needs what it imports
        from .resident import listen

        listener = listen(first["place"])
    try:  # before we know what to do: the front end may still be reading
        torch = import_torch()
    except BaseException as error:
        failure = error
    request = begin_request(orders)
    if failure is None:
        find_libraries(torch)
    install_loader()
    relax_argparse()
    if stays:
        if failure is not None or listener is None:
            os._exit(0)
        orders, descriptor = stay(torch, sites, listener, request)
        request = begin_request(orders)
    settings = request["settings"]
    channel = Channel(descriptor, settings["nonce"])
    if failure is not None:
        channel.write(channel.frame({"event": "no torch", "reason": describe(failure)}))
    elif is_group:
        guard_process(torch)
        channel.tell(events.Guards(STATE.guards))
        more = settings, Files(**request["files"]), torch, Originals(torch)
        jobs = [Job(**job) for job in request["jobs"]]
        Importer(jobs, 1, *more).run(channel, None)
        channel.tell(events.Done())
    elif CAN_FORK:
        gc.freeze()
        if settings["reuse"]:
            use_large_pages()
        serve(orders, channel, torch, sites, request)
    else:
        Server(settings, torch, sites).run(request, channel, orders.fileno())
    os._exit(0)  # nothing is left to clean up; to take torch down takes longer than many a build
