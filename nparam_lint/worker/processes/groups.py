"""Groups of jobs, and the processes that import their modules and build their models, one each."""

import collections
import contextlib
import faulthandler
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile

from ..building.plain_gpu import importing
from ..building.project_import import (
    check_name,
    import_failure,
    import_target,
    load_lazily,
    set_arguments,
    set_import_path,
)
from ..job import ModelBuild
from ..state import STATE
from ..tracing import environment
from ..tracing.dependency_record import InputLog
from ..tracing.failures import Failure, NextRung, died
from ..tracing.project_paths import LAUNCHER, is_installed, is_ours, modules_after
from ..tracing.read_tracer import job_dependencies, record_held
from .children import (
    CAN_FORK,
    Child,
    fork_child,
    mark_output,
    shared_with_forks,
    use_large_pages,
)
from .jobs import Job
from .supervision import Supervision

START_LIMIT = 300.0  # seconds for importing torch
GRACE = 10.0  # seconds that a supervising process gets beyond what it supervises
FEW = 50  # newly imported modules: so few are imported again by each process
MANY = 40  # models to build, from which on it is worth while to make forking cheaper
# What a process tells of models goes up to the server; all else concerns the one above it alone.
PASSED_ON = ("building", "result", "next rung", "dependencies", "packages")


class JobGroup:
    """Jobs for one process, and what its frames have told. All of them import in the same way
    (`lead`: whether imports that fail are tolerated, whether it answers as a GPU would, and the
    import path). `parent`: the Parent that forks it; `width`: models that it may build at a
    time."""

    def __init__(self, jobs, parent, width=1):
        self.jobs, self.parent, self.width = jobs, parent, width
        self.by_id = {job.id: job for job in jobs}
        self.lead = jobs[0].tolerant, jobs[0].gpu, jobs[0].roots
        self.limit = parent.settings["timeout"] if CAN_FORK else START_LIMIT
        self.child = None  # a process that did such jobs in an earlier run, and waits
        self.importing = self.running = None  # the job it imports for, the file that is being run
        self.building, self.answered = set(), set()  # ids

    def modules(self):
        """What its process imports: one that has done so can do any group that imports the same."""
        return self.lead, dict.fromkeys((job.module, job.file) for job in self.jobs)

    def left(self):
        return [job for job in self.jobs if job.id not in self.answered]

    def start(self):
        parent = self.parent
        if self.child:
            self.child.begin(self)
            self.child.tell([job.as_json() for job in self.jobs])
            return self.child
        if CAN_FORK:
            parent.import_packages()
            return fork_child(self, parent.importer(self).run, parent.settings["nonce"])
        isolated = ["-I"] if sys.flags.isolated else []
        process = subprocess.Popen(
            [sys.executable, *isolated, "-X", "faulthandler", LAUNCHER, "--group"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
        jobs = [job.as_json() for job in self.jobs]
        request = {"jobs": jobs, "settings": parent.settings, "files": parent.files}
        for line in ({"environ": environment.variables()}, request):
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.close()
        channel, output = process.stdout.fileno(), process.stderr.fileno()
        return Child(self, process.pid, channel, output, process=process)

    def hear(self, frame):
        """Note what a frame tells; returns the tasks that follow from it: a process for each job,
        where the import made something that forked processes would share."""
        event, number = frame["event"], frame.get("id")
        if event in ("importing", "imported"):  # for one job, then for none any more
            self.importing = self.by_id.get(number)
        elif event == "running":
            self.running = frame["path"]
        elif event == "building":
            self.importing = None
            self.building.add(number)
        elif event in ("result", "next rung"):
            self.building.discard(number)
            self.answered.add(number)
        elif event == "apart":
            left = self.left()
            self.answered.update(self.by_id)
            return [JobGroup([job], self.parent) for job in left]
        return []

    def after_death(self, ending, tail):
        """(groups to do what it left undone, [job, result] of each job that killed it). While it
        imported, a file is at fault: it is read in part the next time, then not at all. While it
        built, the job that is left is at fault; of several each gets a process of its own."""
        left, path = self.left(), self.running
        suspects, barred = self.parent.files["suspects"], self.parent.files["barred"]
        if not left:
            return [], []
        if self.child and not (self.importing or self.building):  # it waited, and has done nothing
            return [JobGroup(left, self.parent, self.width)], []
        if self.importing and path and path not in suspects:
            suspects.append(path)
            return [JobGroup(left, self.parent, self.width)], []
        if self.importing:
            guilty = [job for job in left if job.module == self.importing.module] or left
            if path and path not in barred:
                barred[path] = ending.cause, ending.words
                guilty = [j for j in left if os.path.join(STATE.root, j.file or "") == path]
        elif len(left) > 1:
            return [JobGroup([job], self.parent) for job in left], []
        else:
            guilty = left
        done = "imported {0.file}" if self.importing else "built {0.label}"
        results = [(job, died(done.format(job), ending, tail)) for job in guilty]
        others = [job for job in left if job not in guilty]
        return [JobGroup(others, self.parent, self.width)] if others else [], results


class Builder:
    """One model, built in a process that is forked for it. `failures`: what was wrong on the rungs
    before."""

    def __init__(self, job, importer, failures):
        self.job, self.importer, self.failures = job, importer, failures
        self.limit = importer.settings["timeout"]

    def start(self):
        importer, job = self.importer, self.job
        importer.import_packages()
        if not job.file:
            load_lazily(importer.modules[job.module], job.build.callable)
            if next(reversed(sys.modules)) != STATE.record.last_module:
                importer.tell_record()

        def build(channel, orders):
            importer.build(channel, job, self.failures)

        return fork_child(self, build, importer.settings["nonce"])

    def hear(self, frame):
        if frame["event"] == "next rung":
            return [Builder(self.job, self.importer, frame["failures"])]
        return []

    def after_death(self, ending, tail):
        return [], [(self.job, died("built " + self.job.label, ending, tail))]


class Parent:
    """A process that forks others, and imports for them what they would import of installed
    packages. `files`: those of the project that have killed a process, and how they are treated."""

    def __init__(self, settings, files, torch, mode, originals):
        self.settings, self.files = settings, files
        self.torch, self.mode, self.originals = torch, mode, originals
        self.channel = None  # to the process above, or to the front end
        self.packages = {}  # names of modules that children had to import, as keys
        self.environ = environment.contents()

    def importer(self, group):
        more = self.settings, self.files, self.torch, self.mode, self.originals
        return Importer(group.jobs, group.width, *more)

    def import_packages(self, at_least=FEW):
        """Import what processes had to import of installed packages, once for all that are still to
        be forked: transformers, or what torch needs to compute on meta (some 800 modules)."""
        names = [name for name in self.packages if name not in sys.modules]
        if len(names) > at_least:
            for name in names:
                with contextlib.suppress(Exception, SystemExit):
                    importlib.import_module(name)
            if self.channel:  # else nobody waits yet for what it is told
                self.tell_record()
            gc.freeze()

    def tell_record(self):
        """Tell what was read so far, so that no process that is forked tells it again."""
        record_held()
        self.channel.send_record()


class Importer(Parent):
    """The process of a group. It imports the package that the modules of all its jobs have in
    common, builds the models of what is loaded then, in a process each, and leaves every other
    module to a process that goes on from here. So a file is imported after the packages that it
    lies in, as in a fresh interpreter, and after no other file."""

    def __init__(self, jobs, width, *more):
        super().__init__(*more)
        self.jobs, self.width = jobs, width
        self.modules = {}  # by name
        self.is_shared = False  # whether a fork would share what the import has made

    def run(self, channel, orders):
        self.channel = channel
        channel.limit = self.settings["timeout"]
        with own_directory():
            self.import_and_build(orders)

    def import_and_build(self, orders):
        channel = self.channel
        STATE.begin_group(
            self.jobs[0].tolerant,
            self.files,
            lambda path: channel.send(event="running", path=path),
        )
        set_import_path(self.jobs[0].roots)
        last = next(reversed(sys.modules))
        with self.told_packages(channel), importing(self.jobs[0]):
            before = shared_with_forks()
            ready, others = self.import_all()
            self.is_shared = CAN_FORK and not shared_with_forks() <= before
        if self.is_shared and len(self.jobs) > 1:
            channel.send(event="apart")
            return
        names = modules_after(last)
        self.is_project = any(is_ours(sys.modules[name]) for name in names)
        gc.disable()  # a module may have turned it on again
        stays = self.settings["reuse"] and CAN_FORK and not self.is_shared
        if len(ready) == 1 and not (others or stays):
            self.build(channel, ready[0], ready[0].failures)
            return
        self.tell_record()
        channel.limit += GRACE
        channel.send(event="imported")
        gc.freeze()
        self.build_all(ready, others)
        if stays and len(ready) == len(self.jobs):
            channel.send(event="idle")
            for jobs in orders:  # of one run after the other, that rest on what was read before
                STATE.record.report_all_again()
                channel.send_record()
                self.build_all([Job(**job) for job in jobs], [])
                channel.send(event="idle")

    @contextlib.contextmanager
    def told_packages(self, channel):
        """Tell the process above what was imported of installed packages, unless the environment
        was changed before, which may have made them what they are here, or they may have made what
        forked processes would share."""
        last = next(reversed(sys.modules))
        yield
        names = modules_after(last)
        is_changed = bool(names) and environment.contents() != self.environ
        installed = filter(is_installed, () if is_changed or self.is_shared else reversed(names))
        channel.send(event="packages", names=[*installed])

    def import_all(self):
        """(jobs whose module is loaded, the others); those that cannot be imported are answered."""
        mark_output(self.settings["nonce"])
        self.channel.send(event="importing", id=self.jobs[0].id)
        set_arguments(self.jobs[0])
        name = common_package(self.jobs)
        ready, others, failure = [], [], None
        if any(job.module != name for job in self.jobs):
            try:
                check_name(self.jobs[0])
                importlib.import_module(name)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                failure = error
        for job in self.jobs:
            # The modules of installed packages may be loaded one beside the other.
            is_loaded = job.module == name or job.module in sys.modules
            if job.file and not (is_loaded or failure):
                others.append(job)
                continue
            try:
                if failure:
                    check_name(job)
                    raise import_failure(job, failure)
                if job.module not in self.modules:
                    self.modules[job.module] = import_target(job)
            except Failure as refusal:
                self.channel.send_result(job.id, refusal.result)
            else:
                ready.append(job)
        STATE.on_running = None
        return ready, others

    def build_all(self, ready, others):
        """Build the models of what is loaded, and have the others imported."""
        tasks = [Builder(job, self, job.failures) for job in ready]
        depth = common_package(self.jobs).count(".") + 1
        branches = collections.defaultdict(list)
        for job in others:
            branches[job.module.split(".")[depth]].append(job)
        width = max(1, self.width // max(1, len(branches)))
        tasks += [JobGroup(jobs, self, width) for jobs in branches.values()]
        if len(tasks) > MANY:
            use_large_pages()
        handlers = self.on_frame, self.on_death, self.widen
        self.children = Supervision(tasks, self.settings, self.width, *handlers)
        self.children.run(self.channel.orders)

    def build(self, channel, job, failures):
        """Build the model of a job, and tell its result."""
        mark_output(self.settings["nonce"])
        channel.send(event="building", id=job.id)
        if CAN_FORK:  # so that the message about one that never returns names a line
            faulthandler.dump_traceback_later(0.9 * self.settings["timeout"])
        STATE.begin_model(InputLog())
        set_arguments(job)
        build = ModelBuild(
            job=job,
            module=self.modules[job.module],
            torch=self.torch,
            originals=self.originals,
            mode=self.mode,
            failures=failures,
            traced=self.is_traced(job),
        )
        with self.told_packages(channel), own_directory():
            try:
                result = build.run()
            except NextRung as rung:
                frame = channel.frame(event="next rung", id=job.id, failures=rung.failures)
            else:
                frame = channel.result(job.id, result, job_dependencies(job))
            channel.send_record()
            channel.write(frame)

    def is_traced(self, job):
        """Whether the lines that make its parts are wanted: those of the project, and of packages
        where somebody asks for this one model."""
        return (self.is_project or job.ask.parameters) and (job.ask.origins or not job.ask.points)

    def on_frame(self, task, frame, body):
        following = task.hear(frame)
        if frame["event"] == "packages":
            self.packages.update(dict.fromkeys(frame["names"]))
        is_told = frame["event"] in PASSED_ON and not following
        self.channel.send(body if is_told else None, **(frame if is_told else {"event": "alive"}))
        return following

    def on_death(self, task, ending, tail):
        groups, results = task.after_death(ending, tail)
        for job, result in results:
            self.channel.send_result(job.id, result)
        return groups

    def widen(self, data):
        """Build as many models at a time as `data` says in its last line: a group has ended."""
        self.children.width = self.width = int(data.split()[-1])


def common_package(jobs):
    """The longest name that the names of all modules begin with: of a package, or of their one
    module."""
    names = [job.module.split(".") for job in jobs]
    shortest, longest = min(names), max(names)
    length = 0
    while shortest[length : length + 1] == longest[length : length + 1] != []:
        length += 1
    return ".".join(shortest[:length])


@contextlib.contextmanager
def own_directory():
    """Temporary files of this process lie apart from those of others."""
    before = tempfile.tempdir
    path = os.path.join(STATE.temporary, str(os.getpid()))
    with contextlib.suppress(FileExistsError):
        os.mkdir(path)
    tempfile.tempdir = path
    try:
        yield
    finally:
        tempfile.tempdir = before
        with contextlib.suppress(OSError):
            os.rmdir(path)
