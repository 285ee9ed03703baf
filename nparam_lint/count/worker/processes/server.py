"""Hands the jobs out, and passes the results on."""

from __future__ import annotations

import collections
import os

from ..state import STATE
from ..tracing.failures import died
from .channel import result_body
from .children import CAN_FORK
from .groups import GroupTask
from .supervision import supervise

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

    def tasks(self, jobs):
        groups = collections.OrderedDict()
        modules = collections.defaultdict(dict)
        for job in jobs:
            attempt = job["attempts"][job["attempt"]]
            job["module"], job["roots"] = attempt["module"], attempt["roots"]
            alone = job["id"] if "failures" in job else None
            key = (alone, job["tolerant"], *attempt["roots"])
            # After every model all that the modules of its group hold is looked through.
            part = modules[key].setdefault(job["module"], len(modules[key])) // MODULES
            groups.setdefault((part, *key), []).append(job)
        width = max(1, self.settings["jobs"] // len(groups))
        tasks = [self.group(g, width=width) for g in groups.values()]
        self.hand_over(tasks)
        return tasks

    def group(self, jobs, splits=0, width=1, one_at_a_time=False):
        stays = self.settings["reuse"] and len(jobs) == len(self.jobs)
        own = self.settings, self.torch, self.files
        return GroupTask(jobs, *own, splits, width, one_at_a_time, stays)

    def hand_over(self, tasks):
        """Have the process that was kept do all that there is, if it imported just that."""
        if self.kept is None:
            return
        before = self.kept.task
        if len(tasks) == 1 and tasks[0].imports() == before.imports():
            tasks[0].child = self.kept
            self.files = tasks[0].files = before.files
        else:
            self.kept.end()
        self.kept = None

    def run(self, alive):
        """Returns a process that waits for the jobs of the next run, if there is one."""
        todo = list(self.jobs.values())
        while todo:
            self.retry = []
            idle = supervise(
                self.tasks(todo),
                self.settings,
                self.on_frame,
                self.on_death,
                alive,
                lambda: self.channel.send(event="alive"),
            )
            self.kept = idle[0] if idle else None
            todo = self.retry
        # Without fork a thread reads the orders, in order to see their end: it would take more.
        self.channel.send(event="end", jobs=len(self.answered), more=CAN_FORK)
        return self.kept

    def on_frame(self, task, frame, body):
        job = self.jobs.get(frame.get("id"))
        if frame["event"] == "importing":
            task.importing = job
        elif frame["event"] == "running":
            task.running = frame["path"]
        elif frame["event"] == "changed torch":
            task.torch_changed_by = job
        elif frame["event"] == "changed state":
            task.state_changed = True
        elif frame["event"] == "imported":
            task.importing = None
        elif frame["event"] == "building":
            task.building[job["id"]] = job
        elif frame["event"] == "dependencies":
            self.channel.send(body, event="dependencies")
        elif frame["event"] == "result":
            task.building.pop(job["id"], None)
            task.answered.add(job["id"])
            self.answer(job, frame, body)
        elif frame["event"] == "next rung":  # from a group that builds by itself
            task.building.pop(job["id"], None)
            task.answered.add(job["id"])
            job["failures"] = frame["failures"]
            self.retry.append(job)

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

    def at_fault(self, job, ending, tail, what=None):
        """Answer for a job whose process died; `what` it did, where it was not building."""
        result = died(job, ending, tail)
        if what:
            result["reason"] = "the process that {} {}".format(what, ending.words)
        frame = {"ok": False, "code": result["code"]}
        self.answer(job, frame, result_body(result, None))

    def on_death(self, task, ending, tail):
        """A group died: because a module or a model changed it for what came next; while importing
        (the file is at fault: try again, reading it in part, then without it); or, where it builds
        by itself, while building."""
        left = [j for j in task.jobs if j["id"] not in task.answered]
        if not left:
            return []
        if task.state_changed:
            return [self.group(left, task.splits, task.width)]
        if task.torch_changed_by:
            name = task.torch_changed_by["module"]
            own = [j for j in left if j["module"] == name]
            rest = [j for j in left if j["module"] != name]
            return [self.group(part, task.splits + 1, task.width) for part in (own, rest) if part]
        path, suspects = task.running, self.files["suspects"]
        if task.importing and path and path not in suspects:
            suspects.append(path)
            return [self.group(left, task.splits, task.width)]
        if task.importing:
            name = task.importing["module"]
            guilty = [j for j in left if j["module"] == name]
            if path and path not in self.files["barred"]:
                self.files["barred"][path] = ending.cause, ending.words
                guilty = [
                    j for j in left if j["file"] and os.path.join(STATE.root, j["file"]) == path
                ]
            elif not guilty:  # it died between two imports
                guilty = left
            for job in guilty:
                self.at_fault(job, ending, tail, "imported {}".format(job["file"] or job["module"]))
        elif task.child and not task.building:  # while it waited: nothing of this run
            return [self.group(left, task.splits, task.width)]
        elif CAN_FORK and not task.one_at_a_time:
            # A model killed it, and it may not have said which.
            return [self.group(left, task.splits, one_at_a_time=True)]
        else:
            guilty = list(task.building.values()) or left
            for job in guilty:
                self.at_fault(job, ending, tail)
        rest = [j for j in left if j not in guilty]
        return [self.group(rest, task.splits, task.width, task.one_at_a_time)] if rest else []
