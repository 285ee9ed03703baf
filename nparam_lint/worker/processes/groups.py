"""The process of a group, which imports the modules of its jobs, and those of builders, each of
which builds one model."""

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
from ..tracing.failures import Failure, NextRung
from ..tracing.project_paths import LAUNCHER, is_installed, is_ours, modules_after
from ..tracing.read_tracer import job_dependencies, record_held
from . import events
from .children import (
    CAN_FORK,
    Child,
    fork_child,
    leave,
    mark_output,
    result_event,
    shared_with_forks,
    use_large_pages,
)
from .lifecycle import Branch, ImportGroup, Job, Widen
from .supervision import Supervision

START_LIMIT = 300.0  # seconds for importing torch
GRACE = 10.0  # seconds that a supervising process gets beyond what it supervises
FEW = 50  # newly imported modules: so few are imported again by each process
MANY = 40  # models to build, from which on it is worth while to make forking cheaper


class Parent:
    """A process that forks others, and imports for them what they would import of installed
    packages. `files`: the Files of the project that have ended a process."""

    def __init__(self, settings, files, torch, originals):
        self.settings, self.files, self.torch, self.originals = settings, files, torch, originals
        self.channel = None  # to the process above, or to the front end
        self.packages = {}  # names of modules that children had to import, as keys
        self.environ = environment.contents()

    def start_group(self, group):
        """The process of a group: one that waits, one that is forked, or one that is spawned."""
        orders = [job.as_json() for job in group.jobs]
        if group.child:
            group.child.begin(group)
            group.child.tell(orders)
            return group.child
        if CAN_FORK:
            self.import_packages()
            more = self.settings, self.files, self.torch, self.originals
            body = Importer(group.jobs, group.width, *more).run
            return fork_child(group, self.settings["timeout"], body, self.settings["nonce"])
        isolated = ["-I"] if sys.flags.isolated else []
        process = subprocess.Popen(
            [sys.executable, *isolated, "-X", "faulthandler", LAUNCHER, "--group"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
        request = {"jobs": orders, "settings": self.settings, "files": self.files.as_json()}
        for line in ({"environ": environment.variables()}, request):
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.close()
        channel, output = process.stdout.fileno(), process.stderr.fileno()
        return Child(group, START_LIMIT, process.pid, channel, output, process=process)

    def import_packages(self):
        """Import what processes had to import of installed packages, once for all that are still to
        be forked: transformers, or what torch needs to compute on meta (some 800 modules)."""
        names = [name for name in self.packages if name not in sys.modules]
        if len(names) > FEW:
            for name in names:
                with contextlib.suppress(Exception, SystemExit):
                    importlib.import_module(name)
            self.tell_record()
            gc.freeze()

    def tell_record(self):
        """Tell what was read so far, so that no process that is forked tells it again."""
        record_held()
        self.channel.tell_record()


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
            self.files.suspects,
            self.files.barred,
            lambda path: channel.tell(events.Running(path)),
        )
        os.environ.update(self.jobs[0].build.recipe.environ)
        set_import_path(self.jobs[0].roots)
        last = next(reversed(sys.modules))
        with self.told_packages(channel), importing(self.jobs[0]):
            before = shared_with_forks()
            ready, deeper = self.import_all()
            self.is_shared = CAN_FORK and not shared_with_forks() <= before
        if self.is_shared and len(self.jobs) > 1:
            channel.tell(events.Unforkable())
            return
        names = modules_after(last)
        self.is_project = any(is_ours(sys.modules[name]) for name in names)
        gc.disable()  # a module may have turned it on again
        stays = self.settings["reuse"] and CAN_FORK and not self.is_shared
        if len(ready) == 1 and not (deeper or stays):
            self.build(channel, ready[0], ready[0].failures)
            return
        self.tell_record()
        channel.limit += GRACE
        channel.tell(events.Imported())
        gc.freeze()
        self.build_all(ready, deeper)
        if stays and len(ready) == len(self.jobs):
            channel.tell(events.Idle())
            for jobs in orders:  # of one run after the other, that rest on what was read before
                STATE.record.report_all_again()
                channel.tell_record()
                self.build_all([Job(**job) for job in jobs], [])
                channel.tell(events.Idle())

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
        channel.tell(events.Packages([*installed]))

    def import_all(self):
        """(jobs whose module is loaded, those that lie deeper in the package); those that cannot be
        imported are answered."""
        mark_output(self.settings["nonce"])
        self.channel.tell(events.Importing(self.jobs[0].id))
        set_arguments(self.jobs[0])
        name = common_package(self.jobs)
        ready, deeper, failure = [], [], None
        refusals = {}  # by module: what one has imported before it failed changes the next import
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
                deeper.append(job)
                continue
            try:
                if failure:
                    check_name(job)
                    raise import_failure(job, failure)
                if job.module in refusals:
                    raise refusals[job.module]
                if job.module not in self.modules:
                    self.modules[job.module] = import_target(job)
            except Failure as refusal:
                refusals[job.module] = refusal
                self.tell_record()  # before: the run may end with this result
                self.channel.tell(result_event(job.id, refusal.result))
            else:
                ready.append(job)
        STATE.on_running = None
        return ready, deeper

    def build_all(self, ready, deeper):
        """Build the models of what is loaded, and have the others imported."""
        package = common_package(self.jobs)
        branch = Branch(ready, deeper, self.width, package, self.files, self.packages)
        if len(branch.tasks) > MANY:
            use_large_pages()
        self.builders = Supervision(branch, self)
        self.builders.run(branch.tasks, self.channel.orders)

    def start(self, task):
        if type(task) is ImportGroup:
            return self.start_group(task)
        self.import_packages()
        job = task.job
        if not job.file:
            load_lazily(self.modules[job.module], job.build.callable)
            if next(reversed(sys.modules)) != STATE.record.last_module:
                self.tell_record()

        def build(channel, orders):
            self.build(channel, job, task.failures)

        return fork_child(task, self.settings["timeout"], build, self.settings["nonce"])

    def perform(self, instruction, children):
        if type(instruction) is Widen:
            children.widen(instruction.task)
        else:
            self.channel.tell(instruction.event)

    def hear_above(self, data):
        """Build as many models at a time as the last line says: a group has ended."""
        self.builders.life.width = self.width = int(data.split()[-1])
        self.builders.share_out(self.builders.running)

    def build(self, channel, job, failures):
        """Build the model of a job, and tell its result."""
        mark_output(self.settings["nonce"])
        channel.tell(events.Building(job.id))
        if CAN_FORK:  # so that the message about one that never returns names a line
            faulthandler.dump_traceback_later(0.9 * self.settings["timeout"])
        STATE.begin_model(InputLog())
        set_arguments(job)
        build = ModelBuild(
            job=job,
            module=self.modules[job.module],
            torch=self.torch,
            originals=self.originals,
            failures=failures,
            traced=self.is_traced(job),
            tell_alive=lambda: channel.tell(events.Alive()),
        )
        with self.told_packages(channel), own_directory():
            try:
                result = build.run()
            except NextRung as rung:
                frame = channel.of(events.RungFailed(job.id, rung.failures))
            else:
                frame = channel.of(result_event(job.id, result, job_dependencies(job)))
            channel.tell_record()
            channel.write(frame)
            if STATE.branch is not None:  # the process that it comes from goes on
                leave(0)

    def is_traced(self, job):
        """Whether the lines that make its parts are wanted: those of the project, and of packages
        where somebody asks for this one model."""
        is_project = self.is_project or job.build.recipe.is_run  # which imports it then
        return (is_project or job.ask.parameters) and (job.ask.origins or not job.ask.points)


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
    path = f"{STATE.temporary}{os.sep}{os.getpid()}"
    with contextlib.suppress(
        OSError
    ):  # refused where the project has replaced what it is asked with
        os.mkdir(path)
    tempfile.tempdir = path
    try:
        yield
    finally:
        tempfile.tempdir = before
        with contextlib.suppress(OSError):
            os.rmdir(path)
