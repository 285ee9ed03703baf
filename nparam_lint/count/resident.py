"""A worker's process that stays between runs, and saves them the import of torch and of installed
packages: `resident = true` in the config, or NPARAM_LINT_RESIDENT=15m; editors always have one.

Each has a directory of its own below the cache directory, which only this user can enter. A run
that finds none there, or one that does not answer at once, goes on without it, and says nothing.
"""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from tempfile import TemporaryFile
from typing import NamedTuple

from nparam_lint.cache.store import RESIDENT, directory, tool
from nparam_lint.count.worker_environment import worker_environment
from nparam_lint.ground import LOG, SOCKET, WORKER
from nparam_lint.ground.facts import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

PATIENCE = 1.0  # seconds for a host: the process may be importing a package
# Seconds for what a person asks, and for one that was started here and may still import torch: a
# worker that is started instead would have to do that, too.
LONG_PATIENCE = 10.0
_started: set[str] = set()  # the directories of those that this process has started
# The two ends of a pipe that tells those when this process ends, if they are to end with it.
_lifeline: list[int] = []
IS_POSSIBLE = sys.platform.startswith("linux")
IMPOSSIBLE = "no worker stays between runs here: only Linux can fork a process that holds torch"


def place_of(python: str, environ: Mapping[str, str]) -> str | None:
    """The directory of the process for this interpreter and all that a build sees of the user's
    environment; None where there can be none."""
    base = directory(environ)
    if base is None or not IS_POSSIBLE:
        return None
    visible = worker_environment(environ, "", python).visible
    parts = (tool(), python, *(f"{name}={visible[name]}" for name in sorted(visible)))
    return os.path.join(base, RESIDENT, digest(*parts)[:16])


class Host:
    """A process that was forked for this run, as `subprocess.Popen` has them."""

    returncode = None  # only the process that forked it is told

    def __init__(
        self,
        place: str,
        pid: int,
        held: Iterable[str],
        connection: socket.socket,
        streams: tuple[int, int, int],
    ) -> None:
        """`place`: the directory where it may write; `held`: names of the installed packages that
        it has imported."""
        self.place, self.pid, self.connection = place, pid, connection
        self.held = frozenset(held)
        self.stdin = open(streams[0], "wb", 1 << 20)  # noqa: SIM115
        self.stdout = open(streams[1], "rb", 1 << 20)  # noqa: SIM115
        self.stderr = open(streams[2], "rb", 0)  # noqa: SIM115

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing of it is left. Raises TimeoutExpired."""
        if not select.select([self.connection], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired("host", timeout or 0)

    def kill(self) -> None:
        if not select.select([self.connection], [], [], 0)[0]:  # else its number may be another's
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)


def connect(place: str) -> Host | None:
    """A host of the process that stays there; None where none answers."""
    if not os.path.exists(os.path.join(place, SOCKET)):
        return None
    import resource

    pipes = [os.pipe() for _ in range(3)]
    theirs = (pipes[0][0], pipes[1][1], pipes[2][1])
    ours = (pipes[0][1], pipes[1][0], pipes[2][0])
    mask = os.umask(0o077)
    os.umask(mask)
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
    request = {
        "do": "build",
        "cwd": os.getcwd(),
        "umask": mask,
        "limits": {
            getattr(resource, name): resource.getrlimit(getattr(resource, name))
            for name in dir(resource)
            if name.startswith("RLIMIT_")
        },
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "cores": sorted(os.sched_getaffinity(0)),
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "ignored": [number for number in signals if signal.getsignal(number) == signal.SIG_IGN],
    }
    patience = LONG_PATIENCE if place in _started else PATIENCE
    connection = _ask(place, request, theirs, patience)
    for descriptor in theirs:
        os.close(descriptor)
    answer = _answer(connection) if connection else None
    if connection and answer:
        with suppress(KeyError, TypeError):  # who answers is not trusted
            return Host(place, int(answer["pid"]), map(str, answer["held"]), connection, ours)
    for descriptor in ours:
        os.close(descriptor)
    if connection:
        connection.close()
    return None


def end_with_this_process() -> None:
    """Whatever is started from now on ends with this process, however that ends."""
    if IS_POSSIBLE:
        _lifeline.extend(os.pipe())


def start(python: str, environ: Mapping[str, str], packages: list[str], minutes: float) -> None:
    """Let a process stay for this interpreter and environment, unless there is one."""
    place = place_of(python, environ)
    if place is None:
        return
    with suppress(OSError):
        for folder in (os.path.dirname(place), place):
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        if not is_private(place):
            return
        import fcntl

        with open(os.path.join(place, LOG), "ab") as log:
            # As its standard error the process that is started holds the lock until it ends.
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
            log.truncate(0)
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(place, SOCKET))
            own_environ = worker_environment(environ, place, python)
            nowhere = {"root": "", "names": (), "temporary": place, "snapshot": None, "places": ()}
            lines = (
                {"environ": own_environ.on_request, "place": place},
                {
                    "settings": nowhere,
                    "packages": packages,
                    "minutes": minutes,
                    "lifeline": _lifeline[:1],
                },
            )
            with TemporaryFile() as orders:  # a pipe would hold us up until torch is imported
                orders.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
                orders.seek(0)
                process = subprocess.Popen(
                    [python, "-X", "faulthandler", WORKER, "--resident"],
                    stdin=orders,
                    stdout=subprocess.DEVNULL,
                    stderr=log,
                    env=own_environ.process,
                    start_new_session=True,
                    pass_fds=_lifeline[:1],
                )
        process.returncode = 0  # nobody waits for it
        _started.add(place)


def tell_packages(place: str, packages: list[str]) -> None:
    """Have the process that stays there import these modules too, where it has not; nobody waits
    until it has done so."""
    connection = _ask(place, {"do": "import", "packages": packages})
    if connection:
        connection.close()


class Staying(NamedTuple):
    """A process that stays. `memory`: bytes; `age`, `idle`: seconds."""

    place: str
    pid: int
    memory: int
    age: float
    idle: float
    packages: int


def all_of(environ: Mapping[str, str]) -> Iterator[Staying]:
    """Those of this user and this cache directory."""
    base = directory(environ)
    folder = os.path.join(base, RESIDENT) if base else ""
    with suppress(OSError):
        for name in sorted(os.listdir(folder)):
            place = os.path.join(folder, name)
            answer, staying = _asked(place, {"do": "tell"}), None
            with suppress(TypeError):  # that of another version tells other things
                staying = Staying(place, **answer) if answer else None
            if staying:
                yield staying


def end_all(environ: Mapping[str, str]) -> int:
    """End them; gives how many there were."""
    ended = 0
    for staying in all_of(environ):
        _asked(staying.place, {"do": "end"})
        ended += 1
    return ended


def is_private(place: str) -> bool:
    """Whether nobody but this user can enter a directory, or put another in its place."""
    for path, others in ((place, 0o077), (os.path.dirname(place), 0o022)):
        state = os.lstat(path)
        if state.st_uid != os.getuid() or state.st_mode & others:
            return False
    return True


def _ask(
    place: str,
    request: Mapping[str, Any],
    descriptors: tuple[int, ...] = (),
    patience: float = PATIENCE,
) -> socket.socket | None:
    """A connection to the process that stays there, which has the request; None where there is no
    such process, or where others can enter its directory."""
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
    data = json.dumps(request).encode() + b"\n"
    connection = socket.socket(socket.AF_UNIX)
    with suppress(OSError):
        if is_private(place):
            connection.settimeout(patience)
            connection.connect(os.path.join(place, SOCKET))
            if rest := data[connection.sendmsg([data], [rights] if descriptors else []) :]:
                connection.sendall(rest)
            return connection
    connection.close()
    return None


def _asked(place: str, request: Mapping[str, Any]) -> dict[str, Any] | None:
    connection = _ask(place, request)
    if connection is None:
        return None
    with connection:
        connection.settimeout(LONG_PATIENCE)
        return _answer(connection)


def _answer(connection: socket.socket) -> dict[str, Any] | None:
    data = b""
    with suppress(OSError, ValueError):
        while not data.endswith(b"\n"):
            more = connection.recv(1 << 16)
            if not more:
                return None
            data += more
        answer = json.loads(data)
        return answer if isinstance(answer, dict) else None
    return None
