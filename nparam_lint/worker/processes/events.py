"""What a process tells the one above it; each event is a frame on the pipe between the two."""

from typing import NamedTuple, Optional


class Importing(NamedTuple):
    """The import for a job has begun."""

    id: int


class Running(NamedTuple):
    """A file of the project is being run; None: none any more."""

    path: Optional[str]


class Imported(NamedTuple):
    """All has been imported, and models are built in processes of their own."""


class Unforkable(NamedTuple):
    """The import made what forked processes would share: each job needs a process of its own."""


class Building(NamedTuple):
    """The build of a model has begun."""

    id: int


class RungFailed(NamedTuple):
    """A model cannot be built on a rung of the ladder, and is to be built on the next one.
    `failures`: what was wrong on that rung and those before."""

    id: int
    failures: list


class Result(NamedTuple):
    """The result of a job, as JSON in `body`, with what it depends on. `next_attempt`: it failed at
    an import that another way to import may do; `not_tracked`: it needs a file that git lacks;
    `asks_gpu`: it failed since there is no GPU; `depends_on_gpu`: it would be another with one;
    `kept`: no file of the project that it rests on has ended a process."""

    id: int
    ok: bool
    code: Optional[str] = None
    next_attempt: bool = False
    not_tracked: bool = False
    asks_gpu: bool = False
    depends_on_gpu: bool = False
    kept: bool = True
    body: bytes = b""


class Packages(NamedTuple):
    """The modules of installed packages that had to be imported."""

    names: list


class Guards(NamedTuple):
    """The guards that are on in a process."""

    guards: list


class FilesRead(NamedTuple):
    """What was read while importing, as JSON in `body`."""

    body: bytes = b""


class Alive(NamedTuple):
    """A sign of life."""


class Idle(NamedTuple):
    """A group has done all of its jobs, and waits for more."""


class Done(NamedTuple):
    """A process has done its task, and ends."""


KINDS = {
    "importing": Importing,
    "running": Running,
    "imported": Imported,
    "unforkable": Unforkable,
    "building": Building,
    "next rung": RungFailed,
    "result": Result,
    "packages": Packages,
    "guards": Guards,
    "dependencies": FilesRead,
    "alive": Alive,
    "idle": Idle,
    "done": Done,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def as_frame(event):
    """(the frame, what follows it) of an event."""
    frame = event._asdict()
    body = frame.pop("body", None)
    frame["event"] = NAMES[type(event)]
    return frame, body


def of_frame(frame, body):
    """The event of a frame."""
    kind = KINDS[frame.pop("event")]
    return kind(**frame) if body is None else kind(**frame, body=body)
