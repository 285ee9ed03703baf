"""The server of a run: hands the jobs out to groups, and passes their results on."""

import math
import os
import sys
import time

from ...ground import PROTOCOL
from ...ground.facts import fact
from ..building.devices import DEVICES
from ..building.kernel_guard import prctl, restrict
from ..building.side_effect_guard import guard, refuse_interpreters
from ..state import STATE
from ..torch_compat import Originals
from ..tracing.dependency_record import front_end_path
from ..tracing.project_paths import is_within
from ..tracing.read_tracer import start_recording
from .children import ADOPT_ORPHANS, CAN_FORK, use_large_pages
from .groups import MANY, Parent
from .lifecycle import Answer, End, Files, Job, JobRun, Tell, Widen
from .supervision import Supervision


def guard_process(torch):
    """Put on all guards, for this process and whatever it forks, and record what is read. They are
    on where this was forked from a process that stays."""
    prctl(ADOPT_ORPHANS, 1)
    os.chdir(STATE.root or os.curdir)
    os.environ["PWD"] = STATE.root
    if STATE.is_guarded:
        return
    start_recording(torch)
    restrict(STATE.temporary)
    sys.addaudithook(guard)
    refuse_interpreters()
    STATE.is_guarded = True
    sys.dont_write_bytecode = True  # it would be refused each time


class Server(Parent):
    """Hands the jobs of each run to groups, and does what becomes of them (`JobRun`). What a group
    had to import of installed packages is then imported here, once for all that are forked later;
    of the project nothing is imported here."""

    def __init__(self, settings, torch, sites):
        """`sites`: the states of what belongs to the interpreter, by path."""
        files = Files(STATE.root)
        super().__init__(settings, files, torch, Originals(torch))
        self.sites = sites
        self.guards = STATE.guards if CAN_FORK else None
        self.idle = None  # a process that has done the jobs of the run before, and waits for others

    def run(self, request, channel, alive):
        """Do the jobs of a run. `alive`: a descriptor that ends with the front end."""
        self.channel, self.optional = channel, {*request.get("optional", ())}
        self.deadline = time.monotonic() + (request.get("patience") or math.inf)
        jobs = [Job(order) for order in request["orders"]]
        self.tell_ready(request.get("probe"))
        STATE.record.report_all_again()
        self.tell_record()
        if len(jobs) > MANY:
            use_large_pages()
        cores = self.settings["jobs"]
        run = self.life = JobRun(jobs, self.files, cores, self.packages, self.guards, CAN_FORK)
        while run.retry:
            waiting, self.idle = self.idle, None
            if waiting:
                waiting.task.child = waiting
            groups = run.next_round(waiting and waiting.task)
            if waiting and groups[0].child is not waiting:
                waiting.end()
            self.groups = Supervision(run, self)
            idle = self.groups.run(groups, alive, self.beat)
            if len(idle) == 1:  # of several nobody knows which the next run asks for
                self.idle = idle.pop()
            for child in idle:
                child.end()
        if not run.is_over:
            self.end()

    def beat(self):
        """Give a sign of life; and once the time for it is over, leave what is optional."""
        self.say("alive")
        if time.monotonic() > self.deadline and self.life.stop(self.optional):
            self.groups.stop()
            self.end(stopped=True)

    def say(self, event, body=None, **fields):
        """To the front end."""
        self.channel.write(self.channel.frame({"event": event, **fields}, body))

    def tell_ready(self, is_probe):
        torch, devices = self.torch, None
        if is_probe:
            devices = ["meta", *(n for n, d in DEVICES.items() if d.why_absent(torch) is None)]
        self.say(
            "ready",
            protocol=PROTOCOL,
            torch=str(torch.__version__),
            version=".".join(map(str, sys.version_info[:3])),
            devices=devices,
            sites={
                fact("state", front_end_path(path)): state
                for path, state in self.sites.items()
                if not is_within(path)
            },
        )

    start = Parent.start_group

    def perform(self, instruction, children):
        kind = type(instruction)
        if kind is Tell:
            self.channel.tell(instruction.event)
        elif kind is Widen:
            children.widen(instruction.task)
        elif kind is Answer:
            result, retried, kept = instruction
            flags = {"ok": result.ok, "retried": retried, "kept": kept}
            self.say("result", result.body, id=result.id, **flags)
        elif kind is End:
            children.disown()  # what the processes still have to do is not waited for
            self.end()

    def end(self, stopped=False):
        """Tell that nothing follows. `stopped`: before all was done."""
        life = self.life
        # Without fork a thread reads the orders, in order to see their end: it would take more.
        guards = life.guards or []
        if not life.jobs:  # somebody asks what there is
            guards = [*guards, *STATE.unguarded]
        told = {"more": CAN_FORK, "guards": guards, "packages": [*self.packages]}
        self.say("end", stopped=stopped, **told)
