"""What becomes of the jobs of a run: decided from what processes tell, and nothing else. Here no
file is read, no clock, and no pipe; what is to be done is told as instructions.

    JobRun        the jobs of a run, in rounds of groups (the server)
    ImportGroup   jobs whose imports begin alike, for one process
    Branch        a group that has imported, and has its models built and other modules imported
    Builder       one model, for a process that is forked from a group

`handle(task, event)` takes what the process of a task told, and gives instructions; so does
`died(ending, files)` of a task whose process ended without having done it.
"""

import collections
import os.path
from typing import NamedTuple

from ...ground.orders import Order
from . import events


class Start(NamedTuple):
    """Start a process for a task, before those that wait."""

    task: object


class Tell(NamedTuple):
    """Tell an event to the process above, or to the front end."""

    event: object


class Blame(NamedTuple):
    """A job ended its process: make a result of that. `what`: the model or file that this had to do
    with, and what was done to it."""

    job: object
    what: tuple


class Answer(NamedTuple):
    """Tell the front end the result of a job. `retried`: it rests on more than the last process
    read; `kept`: another run would find the same."""

    result: events.Result
    retried: bool
    kept: bool


class Widen(NamedTuple):
    """Tell the process of a group that it may build as many models at a time as it is wide."""

    task: object


class End(NamedTuple):
    """All jobs have their answers."""


class Job:
    """An order, and how far its answer has come. `order`: as JSON has it. `attempt`: the number of
    the way to import that is tried; `tolerant`: imports that fail are tolerated; `gpu`: what is
    asked of CUDA is answered as one plain GPU would. `failures`: what was wrong on the rungs
    before, where any was tried; `is_needed`: git lacks a file that it needs. `companions`: jobs
    for other models of the run of a script, which the process of this one answers as well."""

    companions = ()

    def __init__(self, order, attempt=0, tolerant=False, gpu=False, failures=(), is_needed=False):
        self.order = order
        self.attempt, self.tolerant, self.gpu = attempt, tolerant, gpu
        self.failures, self.is_needed = failures, is_needed
        record = Order.read(order)
        self.id, self.label, self.file = record.id, record.label, record.file
        self.attempts, self.build, self.ask = record.attempts, record.build, record.ask

    @property
    def name(self):
        """What is built, without its file."""
        return self.label.partition("::")[2] or self.label

    @property
    def module(self):
        return self.attempts[self.attempt].module

    @property
    def roots(self):
        return tuple(self.attempts[self.attempt].roots)

    @property
    def how(self):
        """In what way its module is imported."""
        recipe = self.build.recipe
        return self.tolerant, self.gpu, self.roots, recipe.environ, recipe.is_run

    def take_next_attempt(self):
        """Whether there is another way to import: every path strictly, then every path without the
        imports that fail, unless git lacks what they need."""
        if self.attempt + 1 < len(self.attempts):
            self.attempt += 1
            return True
        if self.tolerant or self.is_needed:
            return False
        self.attempt, self.tolerant = 0, True
        return True

    def take_gpu(self):
        """Begin again, as on a machine with one plain GPU."""
        self.gpu, self.attempt, self.tolerant, self.failures = True, 0, False, ()

    def become(self, job):
        """Be another one, in a process that answers for that."""
        vars(self).update(vars(job), companions=())

    @property
    def script_run(self):
        """What is run for it: the same for several models of a script; None: nothing is, or what is
        in doubt is this one's own count."""
        recipe = self.build.recipe
        if not recipe.is_run or any("doubt" in failure for failure in self.failures):
            return None
        return (self.file, recipe.setup, *recipe.run[:2], len(self.failures))

    def as_json(self):
        """What it is made of again."""
        names = "order", "attempt", "tolerant", "gpu", "failures", "is_needed"
        return {name: getattr(self, name) for name in names}


class Files:
    """The files of the project that ended a process that ran them: `suspects` are read in part the
    next time, and those that are `barred` (path → cause and words) not at all. `root`: the
    project's directory."""

    def __init__(self, root, suspects=(), barred=()):
        self.root, self.suspects, self.barred = root, list(suspects), dict(barred)

    @property
    def are_guilty(self):
        return bool(self.suspects or self.barred)

    def as_json(self):
        return {"root": self.root, "suspects": self.suspects, "barred": self.barred}


class ImportGroup:
    """Jobs for one process, which import in the same way, and what it has told of them. `width`:
    models that it may build at a time; `child`: a process that did such jobs in an earlier run, and
    waits."""

    def __init__(self, jobs, width=1):
        self.jobs, self.width, self.child = jobs, width, None
        self.by_id = {job.id: job for job in jobs}
        self.importing = self.running = None  # the job it imports for, the file that is being run
        self.building, self.answered = set(), set()  # ids
        # What its process imports, as the jobs are now: one that is tried again is changed. A
        # process that has done so can do any group that imports the same.
        self.imports = {(job.how, job.module, job.file) for job in jobs}

    def unanswered(self):
        return [job for job in self.jobs if job.id not in self.answered]

    def hear(self, event):
        """Note what its process tells; the tasks that follow from that."""
        kind = type(event)
        if kind is events.Importing:
            self.importing = self.by_id.get(event.id)
        elif kind is events.Imported:
            self.importing = None
        elif kind is events.Running:
            self.running = event.path
        elif kind is events.Building:
            self.importing = None
            self.building.add(event.id)
        elif kind in (events.Result, events.RungFailed):
            self.building.discard(event.id)
            self.answered.add(event.id)
        elif kind is events.Unforkable:
            jobs = self.unanswered()
            self.answered.update(self.by_id)
            return [ImportGroup([job]) for job in jobs]
        return []

    def died(self, ending, files):
        """What to do with the jobs that its process left undone. While it imported, a file is at
        fault: it is read in part the next time, then not at all. While it built, the job that is
        left is at fault; of several each gets a process of its own."""
        jobs, path = self.unanswered(), self.running
        again = [Start(ImportGroup(jobs, self.width))]
        if not jobs:
            return []
        if self.child and not (self.importing or self.building):  # it waited, and has done nothing
            return again
        if self.importing and path and path not in files.suspects:
            files.suspects.append(path)
            return again
        if self.importing:
            guilty = [job for job in jobs if job.module == self.importing.module] or jobs
            if path and path not in files.barred:
                files.barred[path] = ending.cause, ending.words
                guilty = [j for j in jobs if os.path.join(files.root, j.file or "") == path]
            innocent = [job for job in jobs if job not in guilty]
            blames = [Blame(job, (job.file, "imported")) for job in guilty]
            return [*blames, *([Start(ImportGroup(innocent, self.width))] if innocent else [])]
        if len(jobs) > 1:
            return [Start(ImportGroup([job])) for job in jobs]
        return [Blame(jobs[0], (jobs[0].name, "built"))]


class Builder:
    """One model, with those of the job's companions. `failures`: what was wrong on the rungs
    before."""

    width = 1

    def __init__(self, job, failures=()):
        self.job, self.failures = job, failures
        self.unanswered = {job.id: job, **{other.id: other for other in job.companions}}
        self.failed = []  # those that the next rung is for

    def hear(self, event):
        """Note what its process tells; those of its jobs that failed go on together."""
        if type(event) not in (events.RungFailed, events.Result):
            return []
        job = self.unanswered.pop(event.id, self.job)
        job.companions = ()
        if type(event) is events.RungFailed:
            job.failures = event.failures
            self.failed.append(job)
        return [] if self.unanswered else self.following()

    def following(self):
        failed, self.failed = self.failed, []
        return [Builder(job, job.failures) for job in with_companions(failed)]

    def died(self, ending, files):
        """What to do with what is left undone: each of several gets a process of its own."""
        self.job.companions = ()
        left = [*self.unanswered.values()]
        following = [*map(Start, self.following())]
        if len(left) > 1:
            return [*following, *(Start(Builder(job, self.failures)) for job in left)]
        return [*following, *(Blame(job, (job.name, "built")) for job in left)]


def with_companions(jobs):
    """The jobs, of which those that run the same script are companions of the first."""
    first = {}
    for job in jobs:
        leader = first.setdefault(job.script_run or job.id, job)
        leader.companions = () if leader is job else (*leader.companions, job)
    return [*first.values()]


class Branch:
    """A group that has imported: `ready` jobs whose module is loaded are built, and `deeper` ones
    get groups that go on from there, one for each module below the `package`. `packages`: names of
    installed modules that its children had to import, as keys."""

    # What a process tells of models goes up to the server; all else concerns this one alone.
    PASSED_ON = events.Building, events.RungFailed, events.FilesRead, events.Packages

    def __init__(self, ready, deeper, width, package, files, packages=None):
        self.width, self.files = width, files
        self.packages = {} if packages is None else packages
        depth = package.count(".") + 1
        below = collections.defaultdict(list)
        for job in deeper:
            below[job.module.split(".")[depth]].append(job)
        each = max(1, width // max(1, len(below)))
        self.tasks = [Builder(job, job.failures) for job in with_companions(ready)]
        self.tasks += [ImportGroup(jobs, each) for jobs in below.values()]

    def handle(self, task, event):
        following = task.hear(event)
        if type(event) is events.Packages:
            self.packages.update(dict.fromkeys(event.names))
        if type(event) is events.Result:
            return [*self.finished(event), *map(Start, following)]
        is_own = type(event) is events.RungFailed and type(task) is Builder
        if type(event) in self.PASSED_ON and not is_own:
            return [Tell(event)]
        return [Tell(events.Alive()), *map(Start, following)]

    def finished(self, result):
        return [Tell(result._replace(kept=result.kept and not self.files.are_guilty))]

    def widened(self, running):
        return widened(running, self.width)


class JobRun:
    """The jobs of a run. `cores`: models that are built at a time; `packages`: as in a Branch;
    `guards`: those that are on in every process that has run code of the project, None where each
    process tells its own; `is_forking`: whether a process can take several jobs."""

    def __init__(self, jobs, files, cores, packages, guards, is_forking=True):
        self.jobs = {job.id: job for job in jobs}
        self.files, self.cores, self.is_forking = files, cores, is_forking
        self.packages, self.guards = packages, guards
        self.retry = [*self.jobs.values()]
        self.first_failure, self.answered = {}, set()
        self.is_over = False

    def next_round(self, idle=None):
        """The groups of the jobs that are still to be done: those that import in the same way, and
        whose modules lie in the same package, together. To import a package takes seconds on one
        core; two packages are imported on two. `idle`: a group whose process waits, and may take
        one of these."""
        alike = collections.defaultdict(list)
        for job in self.retry:
            place = job.how, bool(job.file), job.module.partition(".")[0]
            is_alone = job.failures or not self.is_forking
            alike[place, job.id if is_alone else None].append(job)
        self.retry = []
        each = max(1, self.cores // max(1, len(alike)))
        groups = [ImportGroup(jobs, each) for jobs in alike.values()]
        groups.sort(key=lambda group: len(group.jobs), reverse=True)
        if idle and len(groups) == 1 and groups[0].imports == idle.imports:
            groups[0].child = idle.child
        # The first shows what the others are likely to import of installed packages.
        several = len([group for group in groups if group.jobs[0].file]) > 1
        self.width = 1 if several and not self.packages else self.cores
        return groups

    def handle(self, task, event):
        following = [Start(group) for group in task.hear(event)]
        kind = type(event)
        if kind is events.Packages:
            self.packages.update(dict.fromkeys(event.names))
            self.width = self.cores
        if self.is_over:
            return []
        if kind is events.Guards:
            before = event.guards if self.guards is None else self.guards
            self.guards = [name for name in before if name in event.guards]
        elif kind is events.RungFailed:  # from a process that has built it by itself
            self.jobs[event.id].failures = event.failures
            self.retry.append(self.jobs[event.id])
        elif kind is events.Result:
            return self.finished(event)
        elif kind in (events.Building, events.FilesRead):
            return [Tell(event)]
        return following

    def stop(self, optional):
        """Give up what is not answered yet, if all of it is `optional`; returns whether."""
        if not self.is_over and optional.issuperset(self.jobs.keys() - self.answered):
            self.is_over = True
            self.retry.clear()
            return True
        return False

    def finished(self, result):
        """What becomes of a result: it is the answer, or the job is tried again."""
        job = self.jobs[result.id]
        if result.not_tracked:
            job.is_needed = True
            self.first_failure[job.id] = result
        # By another path a module may be there without those that register its classes.
        is_by_other_path = job.attempt > 0 and not (result.ok or result.asks_gpu or job.tolerant)
        if result.next_attempt or is_by_other_path:
            self.first_failure.setdefault(job.id, result)
            if job.take_next_attempt():
                self.retry.append(job)
                return []
        if result.asks_gpu and not job.gpu:
            if result.code != "NPL003":
                self.first_failure[job.id] = result
            self.first_failure.setdefault(job.id, result)
            job.take_gpu()
            self.retry.append(job)
            return []
        first = self.first_failure.get(job.id, result)
        # With a GPU a script, or an import, comes further than to what failed without one.
        is_further = job.build.recipe.is_run or first.code == "NPL003"
        is_same = job.gpu and not (is_further or result.ok or result.depends_on_gpu)
        if result.code == "NPL003" or is_same:
            result = first
        if self.is_over or job.id in self.answered:
            return []
        self.answered.add(job.id)
        # A first attempt that failed read things too; a file that hung may hang no more.
        retried = job.attempt > 0 or job.tolerant or job.gpu or result.code == "NPL003"
        answer = Answer(result, retried, result.kept and not self.files.are_guilty)
        self.is_over = len(self.answered) == len(self.jobs)
        return [answer, *([End()] if self.is_over else [])]

    def widened(self, running):
        return widened(running, self.cores) if self.is_forking else []


def widened(running, cores):
    """Let the group that has most to do build on the cores that no other needs. `running`: the
    tasks whose processes run now; no other waits."""
    free = cores - sum(task.width for task in running)
    groups = [task for task in running if type(task) is ImportGroup]
    if not groups or free <= 0:
        return []
    group = max(groups, key=lambda group: len(group.unanswered()))
    group.width += free
    return [Widen(group)]
