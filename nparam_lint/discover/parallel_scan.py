"""Reads many files in parallel: in this process and in others, one for each further core.

A process that fails only costs time: a file that it did not read is read when it is needed.
"""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import tempfile
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import msgpack

from nparam_lint.discover.scan import (
    A_PROCESS,
    FileFacts,
    Imports,
    Scan,
    import_statements,
    scan_within,
)
from nparam_lint.ground.machine import cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_Read = tuple[FileFacts, Imports]
_Items = list[tuple[str, bytes]]


def scan_many(
    contents: Mapping[str, bytes], scan: Scan, timeout: float
) -> Iterator[tuple[str, _Read]]:
    """(path, (facts, import statements)) of each file, in no order. `scan`: a function at the top
    level of a module; `timeout`: seconds for one file."""
    size = sum(map(len, contents.values()))
    count = max(1, min(cores(), size // A_PROCESS))
    ordered = sorted(contents.items(), key=lambda item: len(item[1]), reverse=True)
    mine, *others = (ordered[first::count] for first in range(count))  # of about the same size
    processes = [(p, share) for share in others if (p := _started(scan, share, timeout))]
    try:
        yield from ((path, _read(scan, timeout, path, content)) for path, content in mine)
        for process, share in processes:
            answers: list[_Read] = []
            with suppress(ValueError):  # all that msgspec raises
                answers = msgpack.decode(process.communicate()[0], type=list[_Read])
            yield from zip((path for path, _ in share), answers, strict=False)
    finally:
        for process, _ in processes:
            with process:  # its pipe is closed then, and its end waited for
                process.kill()


def serve() -> None:
    """The main function of such a process: it reads requests from standard input, and writes
    answers to standard output."""
    gc.disable()  # a file leaves nothing that needs it, and this process ends soon
    module, name, timeout, items = pickle.load(sys.stdin.buffer)  # from our own process
    scan: Scan = getattr(import_module(module), name)
    sys.stdout.buffer.write(msgpack.encode([_read(scan, timeout, *item) for item in items]))


def _read(scan: Scan, timeout: float, path: str, content: bytes) -> _Read:
    return scan_within(scan, timeout, path, content), import_statements(content)


def _started(scan: Scan, share: _Items, timeout: float) -> subprocess.Popen[bytes] | None:
    code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"
    try:
        # Not a pipe: it takes some 60 kB, and the rest would wait for this process to write it.
        with tempfile.TemporaryFile() as orders:
            pickle.dump((scan.__module__, scan.__name__, timeout, share), orders)
            orders.seek(0)
            return subprocess.Popen(
                [sys.executable, "-I", "-c", code],
                stdin=orders,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
    except OSError:
        return None
