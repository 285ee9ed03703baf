"""What earlier runs measured, and whether a build would still measure it.

A measurement is remembered with all that its build read: the content of the project's files that
were imported or opened, the names in directories that were listed, paths that were looked for,
names that another file of the project could take over, and the files of installed packages. It
holds as long as all of that is as it was; what a build cannot see (`worker_environment`) cannot
matter.
"""

from __future__ import annotations

import os
import platform
import stat
import zlib
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from glob import glob
from typing import TYPE_CHECKING, Any, TypeVar

from nparam_lint.cache.json_decoder import json_decoder
from nparam_lint.cache.store import digest, tool
from nparam_lint.records import Measured, Measurement, NotMeasured

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from nparam_lint.cache.replay_inputs import Witness
    from nparam_lint.cache.store import Store
    from nparam_lint.count.run_jobs import Job

VARIANTS = 3  # of one model: the branches that somebody goes back and forth between
LARGE = 1 << 26  # bytes; as in the worker, a larger file is known by its state
_LASTING = ("NPL003", "NPL004", "NPL008", "NPL009")  # failures that the next build would repeat

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Reads:
    """What was read. `files`: path → digest of the content, None where there was none. `lists`:
    directory → digest of the names in it. `probes`: question and path → answer. `edges`: the
    project's files that were imported. Paths are relative to the root where they lie below it."""

    files: dict[str, str | None] = field(default_factory=dict)
    lists: dict[str, str | None] = field(default_factory=dict)
    probes: dict[str, str] = field(default_factory=dict)
    edges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file of the project that was run. `source`: digest of its content. `edges`: files that it
    imports. `changes`: files whose state it changed when it was run; "": that of the process."""

    source: str | None
    edges: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reported:
    """What one process of the worker has to tell. `files`: the project's files that were run.
    `shared`: what else was read while they were. `lookups`: directory → names that modules were
    looked for under. `missing`: name of a module that was not found → whether the project has a
    file of that name anywhere. `outside`: path of a file of no project → its state."""

    files: dict[str, File]
    shared: Reads
    lookups: dict[str, tuple[str, ...]]
    missing: dict[str, bool]
    outside: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Around:
    """What all models of a run have in common, as in `Reported`; `present`: for each directory of
    `lookups` those of its entries that go by such a name."""

    shared: Reads
    lookups: dict[str, tuple[str, ...]]
    present: dict[str, tuple[str, ...]]
    missing: dict[str, bool]
    outside: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A measurement: the names of what it depends on, and the worker's answer as JSON. `changes`:
    of the files among these, what each changed of others. `company`: a name for all the models of
    the run, where one of them can tell whether it is in the company of others."""

    reads: str
    around: str
    ok: bool
    answer: str
    changes: dict[str, tuple[str, ...]]
    company: str = ""


@dataclass(frozen=True, slots=True)
class Installation:
    """An interpreter: its versions, and the state of what changes when packages come or go."""

    torch: str
    python: str
    sites: dict[str, str | None]


class Now:
    """The project and its environment as they are, each looked at once."""

    def __init__(self, root: Path, names: Iterable[str]) -> None:
        self.root = os.path.realpath(root)
        self.importable = frozenset(names)
        self.digest = cache(self._digest)
        self.names = cache(self._names)
        self.probe = cache(self._probe)
        self.state = cache(state_of)

    def path(self, place: str) -> str:
        return os.path.normpath(os.path.join(self.root, place))

    def _digest(self, place: str) -> str | None:
        path = self.path(place)
        try:
            if os.stat(path).st_size > LARGE:
                return state_of(path)
            with open(path, "rb", buffering=0) as file:
                return content_digest(file.read())
        except (OSError, ValueError):
            return None

    def _names(self, place: str) -> str | None:
        try:
            with os.scandir(self.path(place)) as found:
                names = "\n".join(sorted(e.name + "/" * e.is_dir() for e in found))
        except (OSError, ValueError):
            return None
        return content_digest(names.encode("utf-8", "surrogateescape"))

    def _probe(self, asked: str) -> str:
        question, _, place = asked.partition(" ")
        path = self.path(place)
        try:
            if question == "readlink":
                return os.readlink(path)
            if question.startswith("access"):
                return str(os.access(path, int(question.removeprefix("access"))))
            mode = (os.stat(path) if question == "stat" else os.lstat(path)).st_mode
        except (OSError, ValueError):
            return "nothing"
        kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "directory"), (stat.S_ISLNK, "link"))
        return next((kind for is_kind, kind in kinds if is_kind(mode)), "other")

    def present(self, place: str, names: Sequence[str]) -> tuple[str, ...]:
        try:
            entries = os.listdir(self.path(place))
        except OSError:
            return ()
        wanted = set(names)
        return tuple(sorted(e for e in entries if e.partition(".")[0] in wanted))

    def has(self, reads: Reads) -> bool:
        return (
            all(self.digest(place) == was for place, was in reads.files.items())
            and all(self.names(place) == was for place, was in reads.lists.items())
            and all(self.probe(place) == was for place, was in reads.probes.items())
        )

    def has_around(self, around: Around) -> bool:
        return (
            all(self.state(path) == was for path, was in around.outside.items())
            and self.has(around.shared)
            and all((name in self.importable) == was for name, was in around.missing.items())
            and all(
                self.present(place, names) == around.present.get(place)
                for place, names in around.lookups.items()
            )
        )


class Memory:
    """The measurements that `store` keeps of one project, as `python` makes them in `environ` (what
    the worker would be given). `copied`: a name for what the project is a copy of, if it is one."""

    def __init__(
        self, store: Store, now: Now, python: str, environ: Mapping[str, str], copied: str = ""
    ) -> None:
        self.store, self.now = store, now
        variables = [f"{name}={value}" for name, value in sorted(environ.items())]
        machine = (*platform.uname(), str(os.cpu_count()), copied)
        parts = (tool(), python, *machine, *variables)
        self.context = digest(*(part.encode("utf-8", "surrogateescape") for part in parts))
        self.start = _now_ns()
        self.pending: list[tuple[str, bool, bytes, Reads | None]] = []
        self.files: dict[str, File] = {}
        self.around = Around(Reads(), {}, {}, {}, {})
        self.recalled: list[tuple[Entry, Reads]] = []
        self.trusted = True
        self.keys: set[str] = set()  # of all models that were recalled
        self.closed: list[tuple[Reads, dict[str, tuple[str, ...]]]] = []  # as `pending`
        self.company = ""
        self.sites: object = None  # the states of what belongs to the interpreter
        self.ended = False  # whether the worker came to its end
        self.known = 0  # measurements that are kept with what they rest on
        self.rests: list[Reads | Around | Installation] = []
        self._checked: dict[str, Reads | Around | None] = {}
        self._key = cache(self._key_of)

    # --- recall -------------------------------------------------------------------------------

    def installation(self) -> Installation | None:
        """What is known of the interpreter; None when it has changed since, or was never met."""
        known: Installation | None = self._load(f"python-{self.context}", Installation)
        if known and all(self.now.state(path) == was for path, was in known.sites.items()):
            self.rests.append(known)
            return known
        return None

    def recall(self, job: Job) -> Measurement | None:
        """What a build would measure, where that is known."""
        name = f"model-{self._key(job)}"
        for entry in self._load(name, tuple[Entry, ...]) or ():
            reads = self._reads(entry)
            if reads is not None:
                kind: Any = Measured if entry.ok else NotMeasured
                found: Measurement | None = _decode(entry.answer.encode(), kind)
                if found:
                    self.store.note_use(name)
                    self.known += 1
                    self.keys.add(self._key(job))
                    self.recalled.append((entry, reads))
                    return replace(found, cached=True)
        return None

    def testify(self, witness: Witness, home: str) -> None:
        """Tell the files and directories that what is known rests on; `home`: the project's
        directory in the working tree."""
        found = witness.paths
        for known in self.rests:
            if isinstance(known, Installation):
                witness.unread.update(known.sites)
                continue
            if isinstance(known, Around):
                witness.unread.update(known.outside)
                found.update(os.path.normpath(os.path.join(home, p)) for p in known.lookups)
                known = known.shared
            places = [*known.files, *known.lists]
            for asked in known.probes:
                question, _, place = asked.partition(" ")
                if question in ("lstat", "readlink"):
                    witness.looks.add(os.path.normpath(os.path.join(home, place)))
                else:
                    places.append(place)
                    # Who may do what with a file, its content does not tell.
                    witness.sound = witness.sound and question == "stat"
            found.update(os.path.normpath(os.path.join(home, p)) for p in places)

    def _reads(self, entry: Entry) -> Reads | None:
        """What an entry depends on, if all of that is as it was."""
        if self._still(entry.around, Around) is None:
            return None
        found = self._still(entry.reads, Reads)
        return found if isinstance(found, Reads) else None

    def _still(self, name: str, kind: type[Reads] | type[Around]) -> Reads | Around | None:
        if name not in self._checked:
            known = self._load(name, kind)
            if isinstance(known, Reads):
                holds = self.now.has(known)
            else:
                holds = isinstance(known, Around) and self.now.has_around(known)
            self._checked[name] = known if holds else None
            if holds:
                self.rests.append(known)
                self.store.note_use(name)
        return self._checked[name]

    def _key_of(self, job: Job) -> str:
        from msgspec.json import encode

        fields = {k: v for k, v in asdict(job).items() if k not in ("id", "label")}
        device = _devices() if job.device in ("auto", "cuda") else ""
        return digest(self.context.encode(), device.encode(), encode(fields))

    # --- learn --------------------------------------------------------------------------------

    def note(self, body: bytes) -> None:
        """What a process of the worker says that it has read."""
        news: Reported | None = _decode(body, Reported)
        if news is None:
            self.trusted = False
            return
        for path, file in news.files.items():
            known = self.files.get(path, file)
            if known.source != file.source:  # somebody is editing it
                self.trusted = False
            edges, changes = {*known.edges, *file.edges}, {*known.changes, *file.changes}
            self.files[path] = File(file.source, tuple(sorted(edges)), tuple(sorted(changes)))
        shared = self._merged([self.around.shared, news.shared])
        self.around = replace(self.around, shared=shared)
        for place, names in news.lookups.items():
            before = self.around.lookups.get(place, ())
            self.around.lookups[place] = tuple(sorted({*before, *names}))
        self.around.missing.update(news.missing)
        self.around.outside.update(news.outside)

    def learn(self, job: Job, measurement: Measurement, body: bytes, reads: bytes) -> None:
        """An answer of the worker, with what it depends on; `reads` is empty where it may depend
        on anything that was read at all."""
        own: Reads | None = _decode(reads, Reads) if reads else None
        if reads and own is None:
            return
        ok = isinstance(measurement, Measured)
        lasting = isinstance(measurement, Measured) or measurement.code in _LASTING
        gpu = measurement.devices.get("cuda:0")  # what it has no room for now, it may have later
        if lasting and (gpu is None or gpu.status == "measured"):
            self.pending.append((self._key(job), ok, body, own))

    def settle(self, built: bool) -> bool:
        """Whether what was recalled may stand, beside others that were `built` in this run or
        alone: no model can tell in whose company it was measured, or the company is the same. To be
        asked when all is known."""
        self._close()
        everyone = [(reads, entry.changes) for entry, reads in self.recalled] + self.closed
        doers = {path: hit for _, changes in everyone for path, hit in changes.items()}
        groups = {id(reads): reads for reads, _ in everyone}.values()
        mingled = any(_is_touched(reads, doers) for reads in groups)
        keys = sorted({*self.keys, *(key for key, *_ in self.pending)})
        self.company = digest(*(key.encode() for key in keys)) if mingled else ""
        companies = {entry.company for entry, _ in self.recalled}
        return not companies or (companies == {self.company} and not (mingled and built))

    def _close(self) -> None:
        """Work out what each answer of the worker depends on."""
        whole = self._merged(Reads({p: f.source}) for p, f in self.files.items())
        everything = {path: file.changes for path, file in self.files.items() if file.changes}
        closures: dict[tuple[str, ...], tuple[Reads, dict[str, tuple[str, ...]]]] = {}
        self.closed = []
        for _, _, _, own in self.pending:
            if own is None:
                self.closed.append((whole, everything))
                continue
            if own.edges not in closures:
                below = self._below(own.edges)
                reads = self._merged(Reads({p: self.files[p].source}) for p in below)
                changes = {p: self.files[p].changes for p in below if self.files[p].changes}
                closures[own.edges] = reads, changes
            reads, changes = closures[own.edges]
            if own.files or own.lists or own.probes:
                reads = self._merged([reads, own])
            self.closed.append((reads, changes))

    def forget(self) -> None:
        """Begin anew: all models are to be built in this run."""
        self.recalled, self.keys, self.known, self.rests = [], set(), 0, []
        self.pending, self.closed, self.files, self.company = [], [], {}, ""
        self.around = Around(Reads(), {}, {}, {}, {})
        self.ended = False

    def save(self, torch: str, python: str) -> None:
        """Keep what was learned; nothing of it, if anything may have changed in the meantime, or
        where the run did not come to its end."""
        sites = self.sites
        if not (self.trusted and self.ended and self.pending and isinstance(sites, dict)):
            return
        if any(self._is_new(place) for place in self.around.shared.lists):
            return
        for place, names in self.around.lookups.items():
            if self._is_new(place):
                return
            self.around.present[place] = self.now.present(place, names)
        self._save(f"python-{self.context}", installed := Installation(torch, python, sites))
        self.rests.append(installed)
        around = self._named("around", self.around)
        for (key, ok, answer, _), (reads, changes) in zip(self.pending, self.closed, strict=True):
            if not any(self._is_new(place) for place in reads.lists):
                name = self._named("reads", reads)
                entry = Entry(name, around, ok, answer.decode(), changes, self.company)
                self._keep(f"model-{key}", entry)
                self.known += 1

    def _below(self, edges: Iterable[str]) -> list[str]:
        """The files that were run for those that are given, themselves included."""
        found = dict.fromkeys(path for path in edges if path in self.files)
        todo = list(found)
        while todo:
            for path in self.files[todo.pop()].edges:
                if path in self.files and path not in found:
                    found[path] = None
                    todo.append(path)
        return sorted(found)

    def _merged(self, parts: Iterable[Reads]) -> Reads:
        """All parts together. Two contents of one file in one run: somebody is editing it, and
        nothing is certain any more."""
        files: dict[str, str | None] = {}
        lists: dict[str, str | None] = {}
        probes: dict[str, str] = {}
        edges: set[str] = set()
        for part in parts:
            pairs: Any = ((files, part.files), (lists, part.lists), (probes, part.probes))
            for known, more in pairs:
                for place, value in more.items():
                    if known.setdefault(place, value) != value:
                        self.trusted = False
            edges.update(part.edges)
        return Reads(files, lists, probes, tuple(sorted(edges)))

    def _is_new(self, place: str) -> bool:
        """Whether a directory was changed since this run began: what a build saw in it may not be
        what it has now."""
        try:
            return os.stat(self.now.path(place)).st_mtime_ns > self.start
        except OSError:
            return False

    def _named(self, kind: str, value: Reads | Around) -> str:
        """Keep a value under a name that its content gives, and return that."""
        from msgspec.json import encode

        if isinstance(value, Reads):
            value = replace(value, edges=())
        body = encode(value, order="sorted")
        name = f"{kind}-{digest(body)}"
        if self._checked.get(name) is None:  # not there, or gone
            self._checked[name] = value
            self.rests.append(value)
            self.store.save(name, zlib.compress(body, 1))
        return name

    def _keep(self, name: str, entry: Entry) -> None:
        others = self._load(name, tuple[Entry, ...]) or ()
        kept = [other for other in others if other.reads != entry.reads]
        self._save(name, (entry, *kept[: VARIANTS - 1]))

    def _save(self, name: str, value: object) -> None:
        from msgspec.json import encode

        self.store.save(name, zlib.compress(encode(value), 1))

    def _load(self, name: str, kind: Any) -> Any:
        body = self.store.load(name)
        if body is None:
            return None
        try:
            return _decode(zlib.decompress(body), kind)
        except zlib.error:
            return None


def _is_touched(reads: Reads, doers: Mapping[str, tuple[str, ...]]) -> bool:
    """Whether a file that these do not depend on changes one that they do, or the process."""
    return any(
        path not in reads.files and ("" in hit or any(p in reads.files for p in hit))
        for path, hit in doers.items()
    )


def content_digest(data: bytes) -> str:
    """As the worker writes it."""
    from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def state_of(path: str) -> str | None:
    """As the worker writes it: what changes whenever a file or a directory does."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{state.st_mtime_ns} {state.st_ctime_ns} {state.st_size} {state.st_ino}"


@cache
def _devices() -> str:
    """What CUDA would find."""
    found = sorted(glob("/dev/nvidia*"))
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8", errors="replace") as file:
            found.append(file.read())
    except OSError:
        pass
    return "\n".join(found)


def _decode(body: bytes, kind: Any) -> Any:
    """A value of that kind; None for anything else."""
    from msgspec import DecodeError

    try:
        return json_decoder(kind).decode(body)
    except (DecodeError, UnicodeDecodeError):
        return None


def _now_ns() -> int:
    import time

    return time.time_ns()
