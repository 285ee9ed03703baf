"""The worker's process, from its orders to its end: it hands the jobs out, and passes the results
on."""

import collections
import dataclasses
import faulthandler
import gc
import importlib
import json
import os
import sys
import warnings

from ..building.device_ladder import patch_initialisers
from ..building.devices import DEVICES
from ..building.kernel_guard import prctl, restrict
from ..building.project_import import install_loader, relax_argparse
from ..building.side_effect_guard import guard_file_reader, guard_file_writer
from ..path_facts import fact
from ..state import STATE
from ..torch_compat import (
    defer_compiler,
    quicken,
    wrap_construction,
    wrap_file_readers,
    wrap_file_writer,
)
from ..tracing import environment
from ..tracing.constructions import note_construction, note_copy
from ..tracing.dependency_record import DependencyRecord, front_end_path
from ..tracing.failures import describe, died
from ..tracing.project_paths import OWN, is_within
from ..tracing.read_tracer import installation
from ..tracing.state_snapshot import LIBRARIES
from .children import (
    ADOPT_ORPHANS,
    CAN_FORK,
    DIE_WITH_PARENT,
    Channel,
    fork_child,
    make_room,
    result_body,
)
from .groups import GroupTask
from .supervision import Supervision

PROTOCOL = 9
MODULES = 500  # that one group imports at most


class Server:
    """Hands the jobs to groups, follows up on what becomes of them, and passes the results on."""

    def __init__(self, request, channel, torch, kept=None):
        """`kept`: a process that has done the jobs of the run before, and waits for others."""
        self.settings = request["settings"]
        self.jobs = {job["id"]: job for job in request["jobs"]}
        for job in request["jobs"]:
            job.update(attempt=0, tolerant=False)
        self.channel, self.torch, self.kept = channel, torch, kept
        self.files = {"suspects": [], "barred": {}}
        self.first_failure = {}
        self.answered = set()
        self.is_over = False  # whether the end has been told
        self.guards = None  # those that are on in every process that has run code of the project
        self.ahead = None  # what a group can do before it has jobs: its lead, and its packages

    def tasks(self, jobs):
        groups = {}
        modules = collections.defaultdict(dict)
        for job in jobs:
            attempt = job["attempts"][job["attempt"]]
            job["module"], job["roots"] = attempt["module"], attempt["roots"]
            alone = job["id"] if "failures" in job else None
            # To import a package takes seconds on one core; two packages are imported on two.
            shares = job["file"] or self.settings["reuse"]
            package = None if shares else job["module"].partition(".")[0]
            key = (alone, package, job["tolerant"], *attempt["roots"])
            # After every model all that the modules of its group hold is looked through.
            part = modules[key].setdefault(job["module"], len(modules[key])) // MODULES
            groups.setdefault((part, *key), []).append(job)
        found = [
            GroupTask(
                jobs=group,
                settings=self.settings,
                torch=self.torch,
                files=self.files,
                width=max(1, self.settings["jobs"] // len(groups)),
                run_size=len(self.jobs),
            )
            for group in sorted(groups.values(), key=len, reverse=True)
        ]
        if self.kept is not None:  # it does all that there is, if it imported just that
            before = self.kept.task
            if not before.jobs:  # it was made ready for any that import in the same way
                alike = [one for one in found if one.lead == before.lead]
                if alike and before.settings == self.settings and not self.kept.exited():
                    alike[0].child = self.kept
                else:
                    self.kept.end()
            elif len(found) == 1 and found[0].imports() == before.imports():
                found[0].child = self.kept
                self.files = found[0].files = before.files
                found[0].guards = before.guards
                self.note_guards(before.guards)
            else:
                self.kept.end()
            self.kept = None
        return found

    def make_ready(self):
        """A process for the next run, which imports ahead what this one had to import."""
        if self.ahead is None:
            return None
        lead, names, alone = self.ahead
        files = {"suspects": [], "barred": {}}
        more = {"lead": lead, "packages_ahead": names, "alone": alone}
        task = GroupTask([], self.settings, self.torch, files, **more)
        return fork_child(task, task.run, self.settings["nonce"])

    def note_guards(self, found):
        self.guards = [one for one in self.guards or found if one in found]

    def hand_over(self, ended):
        """Let the group that has most to do build on the cores of the one that has ended, unless
        others wait for these."""
        others = [child for child in self.groups.running if child.task is not ended]
        free = self.settings["jobs"] - sum(child.task.width for child in others)
        able = [child for child in others if not child.task.one_at_a_time]
        if CAN_FORK and able and free > 0 and not self.groups.waiting:
            child = max(able, key=lambda one: len(one.task.jobs) - len(one.task.answered))
            child.task.width += free
            child.tell(child.task.width)

    @staticmethod
    def again(task, jobs, **changes):
        """The rest of a task, for another group, if anything is left of it."""
        return [dataclasses.replace(task, jobs=jobs, **changes)] if jobs else []

    def run(self, alive):
        """Returns a process that waits for the jobs of the next run, if there is one."""
        todo = list(self.jobs.values())
        while todo:
            self.retry = []
            tasks = self.tasks(todo)
            self.groups = Supervision(tasks, self.settings, self.on_frame, self.on_death)
            idle = self.groups.run(alive, lambda: self.channel.send(event="alive"))
            self.kept = idle[0] if idle else None
            todo = self.retry
        if not self.is_over:
            self.end()
        return self.kept

    def end(self):
        """Tell that nothing follows: what the processes still have to do is not waited for."""
        self.is_over = True
        if self.jobs:
            self.groups.disown()
        # Without fork a thread reads the orders, in order to see their end: it would take more.
        guards = self.guards or []
        self.channel.send(event="end", jobs=len(self.answered), more=CAN_FORK, guards=guards)

    def on_frame(self, task, frame, body):
        event, job = frame["event"], self.jobs.get(frame.get("id"))
        if self.is_over and event != "ahead":
            return []
        if event in ("importing", "imported"):  # one job after the other, then none any more
            task.importing = job
        elif event == "guards":
            task.guards = frame["guards"]
            self.note_guards(task.guards)
        elif event == "done":
            self.hand_over(task)
        elif event == "ahead":
            self.ahead = tuple(frame["lead"]), tuple(frame["names"]), frame["alone"]
        elif event == "running":
            task.running = frame["path"]
        elif event == "changed":
            task.changed, task.culprits = frame["what"], frame.get("culprits")
        elif event == "apart":
            task.answered.update(frame["jobs"])
            jobs = [self.jobs[number] for number in frame["jobs"]]
            return self.again(task, jobs, allowed=(*task.allowed, frame["path"]))
        elif event == "building":
            task.building.update((number, self.jobs[number]) for number in frame["ids"])
            self.channel.send(event="building", id=frame["ids"][0])
        elif event == "dependencies":
            self.channel.send(body, event="dependencies")
        elif event in ("result", "next rung"):
            task.building.pop(job["id"], None)
            task.answered.add(job["id"])
            if event == "result":
                self.answer(job, frame, body)
            else:  # from a group that builds by itself
                job["failures"] = frame["failures"]
                self.retry.append(job)
        return []

    def answer(self, job, frame, body):
        """Pass a result on; or, when the import failed, try the next way to import: every path
        strictly, then every path without the imports that fail, unless git lacks what they need."""
        if frame.get("not_tracked"):
            job["needed"] = True
            self.first_failure[job["id"]] = frame, body
        if frame.get("next_attempt"):
            self.first_failure.setdefault(job["id"], (frame, body))
            job["attempt"] += 1
            tolerable = not job["tolerant"] and not job.get("needed")
            if job["attempt"] == len(job["attempts"]) and tolerable:
                job["attempt"], job["tolerant"] = 0, True
            if job["attempt"] < len(job["attempts"]):
                self.retry.append(job)
                return
        if frame.get("code") == "NPL003":
            frame, body = self.first_failure.get(job["id"], (frame, body))
        if job["id"] not in self.answered:
            self.answered.add(job["id"])
            # A first attempt that failed read things too; a file that hung may hang no more.
            retried = job["attempt"] > 0 or job["tolerant"] or frame.get("code") == "NPL003"
            kept = not self.files["suspects"] and not self.files["barred"]
            frame = {"id": job["id"], "ok": frame["ok"], "retried": retried, "kept": kept}
            self.channel.send(body, event="result", **frame)
            if len(self.answered) == len(self.jobs):
                self.end()

    def on_death(self, task, ending, tail):
        """A group died: because a module or a model changed it for what came next; while importing
        (the file is at fault: try again, reading it in part, then without it); or, where it builds
        by itself, while building."""
        left = [j for j in task.jobs if j["id"] not in task.answered]
        if not left:
            return []
        path, suspects, barred = task.running, self.files["suspects"], self.files["barred"]
        own = [j for j in left if task.importing and j["module"] == task.importing["module"]]
        if task.changed == "torch":
            if task.apart is None:  # which file did it is not known yet
                return self.again(task, left, apart=[])
            if set(task.culprits) - set(task.apart):
                return self.again(task, left, apart=[*task.apart, *task.culprits])
            others = [j for j in left if j not in own]  # none that was run, but what it led to
            return [t for part in (own, others) for t in self.again(task, part)]
        if task.importing and path and path not in suspects:
            suspects.append(path)
            return self.again(task, left)
        waited = task.child and not task.importing and not task.building
        if task.changed or waited:  # by a model of its own; for this run, of which it did nothing
            return self.again(task, left)
        if CAN_FORK and not task.importing and not task.one_at_a_time:
            # A model killed it, and it may not have said which.
            return self.again(task, left, width=1, one_at_a_time=True)
        if not task.importing:
            guilty = list(task.building.values()) or left
        elif path and path not in barred:
            barred[path] = ending.cause, ending.words
            guilty = [j for j in left if os.path.join(STATE.root, j["file"] or "") == path]
        else:  # it may have died between two imports
            guilty = own or left
        for job in guilty:
            verb, name = "built ", job["label"]
            if task.importing:
                verb, name = "imported ", job["file"] or job["module"]
            result = died(verb + name, ending, tail)
            frame = {"ok": False, "code": result["code"]}
            self.answer(job, frame, result_body(result, None))
        return self.again(task, [j for j in left if j not in guilty])


def take_standard_streams():
    """(the orders, the descriptor of the channel): the worker keeps the streams of this process for
    itself; user code gets an empty input and an output that is not the channel."""
    orders, channel = os.fdopen(os.dup(0), "rb"), os.dup(1)
    make_room(channel)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return orders, channel


def read_request(orders):
    """The request, as the front end writes it; None if the front end ended without one."""
    line = orders.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def import_torch():
    # transformers, timm and others print advice at import; their warnings are of no use here.
    warnings.simplefilter("ignore")
    # Each process builds on one core, several at a time. Threads would also make forking unsafe.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Hardly anything of what is imported is garbage; to look for that takes a third of the time to
    # import torch and timm, and what it finds of models is not worth the copies of pages.
    gc.disable()
    import torch

    for name in LIBRARIES:  # what the project changes of one that came later would not be noticed
        if not name.startswith("numpy"):
            importlib.import_module(name)
    patch_initialisers(torch)
    quicken(torch)
    defer_compiler(torch)
    wrap_file_writer(torch, guard_file_writer)
    wrap_file_readers(torch, guard_file_reader)
    wrap_construction(torch, note_construction, note_copy)
    return torch


def tried_guards():
    """The guards that can really be put on here, as a process finds out that does so."""
    if not hasattr(os, "fork"):
        return STATE.guards
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            restrict(STATE.temporary)
            os.write(writing, json.dumps([*STATE.guards, *STATE.unguarded]).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:
        found = stream.read()
    os.waitpid(pid, 0)
    return json.loads(found or "[]")


def main():
    orders, descriptor = take_standard_streams()
    faulthandler.enable()
    first = read_request(orders)
    if first is None:
        os._exit(0)
    environment.begin(first["environ"])
    failure = torch = None
    is_group = "--group" in sys.argv
    # The server itself: the end of its orders tells it, and then there is cleaning to do.
    if is_group:
        prctl(DIE_WITH_PARENT, 9)
    else:
        prctl(ADOPT_ORPHANS, 1)
    sites = installation()
    try:  # before we know what to do: the front end may still be reading
        torch = import_torch()
    except BaseException as error:
        failure = error
    request = read_request(orders)
    if request is None:
        os._exit(0)
    channel = Channel(descriptor, request["settings"]["nonce"])
    STATE.begin_run(request["settings"], OWN)
    STATE.record = DependencyRecord()
    install_loader()
    relax_argparse()
    if failure is not None:
        channel.send(event="no torch", reason=describe(failure), python=sys.executable)
        os._exit(0)
    if is_group:
        GroupTask(torch=torch, **request).run(channel, None)
        channel.send(event="done")
        os._exit(0)
    kept = None
    while request is not None:
        STATE.begin_run(request["settings"], OWN)
        devices = None
        if request.get("probe"):
            devices = ["meta", *(n for n, d in DEVICES.items() if d.why_absent(torch) is None)]
        channel.send(
            event="ready",
            protocol=PROTOCOL,
            torch=str(torch.__version__),
            python=sys.executable,
            version=".".join(map(str, sys.version_info[:3])),
            devices=devices,
            sites={
                fact("state", front_end_path(path)): state
                for path, state in sites.items()
                if not is_within(path)
            },
        )
        gc.freeze()
        server = Server(request, channel, torch, kept)
        server.guards = tried_guards() if request.get("probe") else None
        kept = server.run(orders.fileno())
        if kept is None and CAN_FORK and request["settings"]["ahead"]:
            kept = server.make_ready()
        request = read_request(orders) if CAN_FORK else None
    if kept:
        kept.end()
    os._exit(0)  # nothing is left to clean up; to take torch down takes longer than many a build
