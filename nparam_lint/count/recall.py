"""Measurements of earlier runs, and whether a build would still give the same.

A measurement is remembered with all that its build read: the content of the project's files that
were imported or opened, the names in directories that were listed, paths that were looked for,
names that another file of the project could take over, the files of installed packages, and the
environment variables that Python code asked for. It is valid as long as none of that has changed;
what a build cannot see (`worker_environment`) cannot matter.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from contextlib import suppress
from functools import cache
from glob import glob
from operator import itemgetter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.json import encode
from msgspec.structs import replace

from nparam_lint.cache import CONTENT, STATE, VARIABLE
from nparam_lint.cache.file_facts import decoded, load_packed, locked, packed, release
from nparam_lint.count import moved_lines
from nparam_lint.count.current_state import CODE, Facts, ProjectState, context_of
from nparam_lint.count.measured import Measured, Measurement, NotMeasured
from nparam_lint.discover.source_tree import cached_method, reachable
from nparam_lint.ground.facts import answer, digest, fact
from nparam_lint.ground.metrics import LADDER, is_present

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nparam_lint.cache.replay_inputs import ReplayInputs
    from nparam_lint.cache.store import Store
    from nparam_lint.count.moved_lines import Lines
    from nparam_lint.ground.orders import Order

VARIANTS = 6  # of one model, for branches between which somebody switches, and other clones


class Dependencies(Struct, frozen=True):
    """What a build read, and the project's files that were imported for it."""

    facts: Facts
    imports: frozenset[str]


class ImportedFile(Struct, frozen=True):
    """A file of the project that was run. `source`: digest of its content; None where it read what
    nobody knows. `imports`: files that it imports."""

    source: str | None
    imports: frozenset[str]


class ProcessDependencies(Struct, frozen=True):
    """What one process of the worker reports: the project's files that were run, and what else was
    read meanwhile."""

    files: dict[str, ImportedFile]
    facts: Facts


class CachedMeasurement(Struct, frozen=True):
    """A measurement: the names under which its own facts, and those that all models of the run
    share, are stored, and the worker's answer as compressed JSON."""

    inputs: str
    shared: str
    ok: bool
    answer: bytes


class MeasurementCache:
    """The measurements that `store` keeps of one project, made with `python`. `variables`: those
    that C code can see."""

    def __init__(
        self,
        store: Store,
        state: ProjectState,
        python: str,
        variables: Mapping[str, str],
    ) -> None:
        self.store, self.state = store, state
        self.context = context_of(python, variables, release(store), state.installed)
        self.start = time.time_ns()
        self.pending: list[tuple[Order, bool, bytes, Dependencies | None]] = []
        self.files: dict[str, ImportedFile] = {}
        self.shared: Facts = {}  # what was read while modules were imported
        self.is_reliable = True
        self.sites: object = None  # the states of what belongs to the interpreter
        self.kept_sources: set[str] = set()  # digests
        self.has_ended = False  # whether the worker came to its end
        self.entry_count = 0  # measurements that are kept with what they rest on
        self.valid_facts: dict[str, Facts] = {}  # by name

    # --- recall -------------------------------------------------------------------------------

    def installation(self) -> tuple[str, str, tuple[str, ...]] | None:
        """The versions of torch and Python, and the guards of the worker; None when the interpreter
        has changed since they were noted, or was never met."""
        installation = load_packed(
            self.store, f"python-{self.context}", tuple[str, str, tuple[str, ...], Facts]
        )
        if installation is None or any(self.state.changes(installation[3])):
            return None
        torch, python, guards, self.valid_facts["python"] = installation
        return torch, python, guards

    def name_of_interpreter(self) -> str | None:
        """A name for it and its packages as they are, and for all variables that a build can see;
        None as above."""
        if self.installation() is None:
            return None
        variables = self.state.answer(fact("env", "*")) or ""
        facts = encoded(self.valid_facts["python"])
        return digest(self.context, variables, facts)

    def recall(self, order: Order) -> Measurement | None:
        """What a build would measure, if that is known."""
        edited: list[tuple[int, CachedMeasurement]] = []
        for entry in self.variants(order):
            count = self._edit_count(entry)
            if count == 0 and (measurement := self._recalled(order, entry)):
                return measurement
            if count:
                edited.append((count, entry))
        # To find out whether no more than lines have moved takes a while: of those that differ
        # least, the latest.
        if edited and self._holds(nearest := min(edited, key=itemgetter(0))[1]):
            return self._recalled(order, nearest)
        return None

    def _recalled(self, order: Order, entry: CachedMeasurement) -> Measurement | None:
        kind: type[Measurement] = Measured if entry.ok else NotMeasured
        names = entry.inputs, entry.shared
        moves = {path: lines for name in names for path, lines in self._moves(name) or ()}
        with suppress(zlib.error):
            body: bytes | None = zlib.decompress(entry.answer)
            if body and moves:
                body = moved_lines.with_moved_lines(body, moves)
            if body and (measurement := decoded(body, kind)):
                self.store.note_use(self._entry_name(order))
                self.entry_count += 1
                return replace(measurement, cached=True)
        return None

    def variants(self, order: Order) -> tuple[CachedMeasurement, ...]:
        """What is known of an order, the latest first."""
        name = self._entry_name(order)
        return load_packed(self.store, name, tuple[CachedMeasurement, ...]) or ()

    @cached_method
    def facts(self, name: str) -> Facts | None:
        """The facts of that name, whether or not they hold; None where they are kept no more."""
        return load_packed(self.store, name, Facts)

    def paths_read(
        self, orders: Iterable[Order], is_named: Callable[[str], bool]
    ) -> list[str | None]:
        """For each order the first of the named paths that a build of it has read; empty where it
        has read none of them, and would read the same now; None where that is not known."""

        @cache
        def read_in(name: str) -> str:
            for query, old_answer in (self.facts(name) or {}).items():
                question, _, place = query.partition("\0")
                # "importable" is asked to import anything, of all that lies there.
                if question in ("env", "machine", "importable"):
                    continue
                if question.startswith("entries/"):  # so is this, of one name: is it gone?
                    gone = f"{place}/{question.removeprefix('entries/')}".removeprefix("./")
                    is_one = not is_named(place) and (is_named(gone) or is_named(f"{gone}.py"))
                    if is_one and self.state.answer(query) is None:
                        return gone
                    continue
                # To be there is asked of every directory above a file that is read.
                is_read = question in (CODE, "content", "names", "installed")
                if is_named(place) and (is_read or self.state.answer(query) != old_answer):
                    return place
            return ""

        def read_by(order: Order) -> str | None:
            earlier = ""
            for entry in self.variants(order):
                path = read_in(entry.inputs) or read_in(entry.shared)
                if self._holds(entry):
                    return path  # what a build would read now
                earlier = earlier or path
            return earlier or None

        return [read_by(order) for order in orders]

    def tell_inputs(self, replay_inputs: ReplayInputs, home: str) -> None:
        """Report the files and directories that the known measurements depend on; `home`: the
        project's directory in the working tree."""
        for query in {query for facts in self.valid_facts.values() for query in facts}:
            question, _, place = query.partition("\0")
            path = self.state.path(place, home)
            if question == "installed":
                replay_inputs.note(STATE, [path])
            elif question == "env":
                replay_inputs.note(VARIABLE, [place])
            elif question in ("lstat", "readlink"):
                replay_inputs.note(question, [path])
            elif question == "machine":  # the answer that is kept does not ask it again
                replay_inputs.is_complete = False
            elif question != "importable":
                replay_inputs.note(CONTENT, [path])
                if question.startswith("access"):  # what its content does not tell
                    replay_inputs.is_complete = False

    def _holds(self, entry: CachedMeasurement) -> bool:
        """Whether a build would still read the same."""
        # Its own first: they are few, and what has been edited is among them.
        return all(self._moves(name) is not None for name in (entry.inputs, entry.shared))

    def _edit_count(self, entry: CachedMeasurement) -> int | None:
        """The number of files of code that have changed since; None where anything else has."""
        count = 0
        for name in (entry.inputs, entry.shared):
            edits = self._edits(name)
            if edits is None:
                return None
            count += len(edits)
        return count

    @cached_method
    def _moves(self, name: str) -> Sequence[tuple[str, Lines]] | None:
        """Where the facts of that name hold, but for the lines of some files: these, and where
        their lines are now. None where more than comments, docstrings and layout has changed."""
        edits, facts = self._edits(name), self.facts(name)
        if edits is None or facts is None:
            return None
        moves = []
        with suppress(OSError, zlib.error):
            # Any file of the project may read the docstrings of another.
            code = [query.partition("\0")[2] for query in facts if query.startswith(CODE + "\0")]
            if edits and any(map(self._reads_source, code)):
                return None
            for place, source in edits:
                lines = self._moved_lines(place, source)
                if lines is None:
                    return None
                moves.append((place, lines))
            self.valid_facts[name] = facts
            self.store.note_use(name)
            return moves
        return None

    @cached_method
    def _edits(self, name: str) -> Sequence[tuple[str, str]] | None:
        """The files of code that have changed since the facts of that name were noted, and what
        they were; None where anything else has."""
        facts = self.facts(name)
        if facts is None:
            return None
        edits = []
        for query, old_answer, new_answer in self.state.changes(facts):
            question, _, place = query.partition("\0")
            if question != CODE or old_answer is None or new_answer is None:
                return None
            edits.append((place, old_answer))
        return edits

    @cached_method
    def _reads_source(self, place: str) -> bool:
        with open(self.state.path(place), "rb") as file:
            return moved_lines.reads_source(file.read())

    @cached_method
    def _moved_lines(self, place: str, source: str) -> Lines | None:
        """Where the lines of a file are that had this digest; None where its code has changed."""
        before = zlib.decompress(self.store.load(f"source-{source}") or b"")
        if moved_lines.reads_source(before):
            return None
        with open(self.state.path(place), "rb") as file:
            return moved_lines.moved_lines(before, file.read())

    @cached_method
    def _entry_name(self, order: Order) -> str:
        return f"model-{self.name_of(order)}-{self.context}"

    @staticmethod
    def name_of(order: Order) -> str:
        """A name for what is built."""
        device = _accelerators() if order.build.device not in LADDER else ""
        what = order.file, order.attempts, order.build, order.ask
        return digest(device, json.dumps(what, default=vars))

    # --- learn --------------------------------------------------------------------------------

    def add_dependencies(self, body: bytes) -> None:
        """Add what a process of the worker reports to have read."""
        news = decoded(body, ProcessDependencies)
        if news is None:
            self.is_reliable = False
            return
        for path, file in news.files.items():
            earlier = self.files.get(path, file)
            if earlier.source != file.source:  # somebody is editing it
                self.is_reliable = False
            self.files[path] = ImportedFile(file.source, earlier.imports | file.imports)
        self.shared = self._merged(self.shared, news.facts)

    def learn(self, order: Order, measurement: Measurement, body: bytes, inputs: bytes) -> None:
        """Add an answer of the worker, with what it depends on; `inputs` is empty if it may depend
        on anything that was read."""
        dependencies = decoded(inputs, Dependencies) if inputs else None
        if inputs and dependencies is None:
            return
        ok = isinstance(measurement, Measured)
        lasting = isinstance(measurement, Measured) or not measurement.is_transient
        results = [result for name, result in measurement.devices.items() if is_present(name)]
        # What a GPU has no room for now, it may have later.
        if lasting and all(result.status == "measured" for result in results):
            # At once, and not at the end: a zoo has hundreds of megabytes, and nobody waits now.
            self.pending.append((order, ok, packed(body), dependencies))

    def _closure(self, imports: frozenset[str] | None) -> Facts:
        """The content of the files that were run for those that are given, themselves included
        (None: of all files)."""
        starts = self.files if imports is None else imports & self.files.keys()
        code = reachable(starts, lambda path: self.files[path].imports & self.files.keys())
        return {fact(CODE, path): self.files[path].source for path in code}

    def save(self, torch: str | None, python: str | None, guards: tuple[str, ...]) -> None:
        """Keep what was learned; nothing of it if anything may have changed meanwhile, or if the
        run did not finish."""
        sites = self.sites
        is_complete = self.is_reliable and self.has_ended and torch and python
        if not (is_complete and self.pending and isinstance(sites, dict)):
            return
        settled, sites = self._settled(self.shared), self._settled(sites)
        if settled is None or sites is None or self._has_new(settled):
            return
        self._save(f"python-{self.context}", (torch, python, guards, sites))
        self.valid_facts["python"] = sites
        shared = self._named("shared", settled)
        unknown = {fact(CODE, p) for p, file in self.files.items() if file.source is None}
        closure = cache(self._closure)
        with locked(self.store):
            for order, ok, body, dependencies in self.pending:
                facts = closure(dependencies.imports if dependencies else None)
                if dependencies and dependencies.facts:
                    facts = self._merged(facts, dependencies.facts)
                inputs = self._settled(facts)
                if inputs is None or self._has_new(inputs) or not unknown.isdisjoint(inputs):
                    continue
                self._keep_sources(inputs)
                entry = CachedMeasurement(self._named("inputs", inputs), shared, ok, body)
                # The order may have variants by now that another run has kept.
                variants = [
                    variant
                    for variant in self.variants(order)
                    if (variant.inputs, variant.shared) != (entry.inputs, entry.shared)
                ]
                self._save(self._entry_name(order), (entry, *variants[: VARIANTS - 1]))
                self.entry_count += 1

    def _settled(self, facts: Facts) -> Facts | None:
        """Facts as the worker reports them, as they are kept: files that no project owns by their
        content, and the answers that only we know. None if such a file has changed since."""
        settled: Facts = {}
        for query, old_answer in facts.items():
            question, _, place = query.partition("\0")
            if question == "state":
                if answer("state", self.state.path(place)) != old_answer:
                    return None
                content = fact("installed", place)
                settled[content] = self.state.answer(content)
            elif question in ("env", "machine") or question.startswith("entries/"):
                settled[query] = self.state.answer(query)
            else:
                settled[query] = old_answer
        return settled

    def _merged(self, facts: Facts, more: Facts) -> Facts:
        """Both together. If one file has two contents in one run, somebody is editing it, and
        nothing is certain any more."""
        if any(facts.get(query, reply) != reply for query, reply in more.items()):
            self.is_reliable = False
        return facts | more

    def _has_new(self, facts: Facts) -> bool:
        """Whether a directory has changed since this run began: what a build saw in it may differ
        from what it contains now."""
        kinds = ("names\0", "distributions\0", "entries/")
        for place in {query.partition("\0")[2] for query in facts if query.startswith(kinds)}:
            with suppress(OSError):
                if os.stat(self.state.path(place)).st_mtime_ns > self.start:
                    return True
        return False

    def _keep_sources(self, facts: Facts) -> None:
        """Keep the files that were run, so that an edit of them can be told from another."""
        for query, source in facts.items():
            question, _, place = query.partition("\0")
            if question == CODE and source and source not in self.kept_sources:
                self.kept_sources.add(source)
                with suppress(OSError), open(self.state.path(place), "rb") as file:
                    text = file.read()
                    if digest(text) == source:
                        self.store.save(f"source-{source}", packed(text))

    def _named(self, kind: str, facts: Facts) -> str:
        """Keep facts under a name that their content gives, and return that."""
        body = encoded(facts)
        name = f"{kind}-{digest(body)}"
        if name not in self.valid_facts:  # not there, or gone
            self.valid_facts[name] = facts
            self.store.save(name, packed(body))
        return name

    def _save(self, name: str, value: object) -> None:
        self.store.save(name, packed(encoded(value)))


def encoded(value: object) -> bytes:
    """The JSON of a value; equal values have equal ones."""
    return encode(value, order="sorted")


@cache
def _accelerators() -> str:
    """What torch would find of GPUs (on macOS it is the machine's own)."""
    devices = sorted([*glob("/dev/nvidia*"), *glob("/dev/dri/render*")])
    driver = "/proc/driver/nvidia/version"
    with suppress(OSError), open(driver, encoding="utf-8", errors="replace") as file:
        return "\n".join([*devices, file.read()])
    return "\n".join(devices)
