"""The files of a project as one bundle, unpacked on another machine while it is needed."""

from __future__ import annotations

import os
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import msgpack

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.temporary import temporary_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST = 500_000_000  # bytes of a project's files: it is packed and sent in memory


def pack(root: Path, files: Iterable[str]) -> bytes:
    """The files, which are relative to `root`, with the content of what links lead to. Those that
    cannot be read are left out: no build could read them either. Raises UsageError where they are
    too many to be sent."""
    contents: dict[bytes, bytes] = {}
    total, largest = 0, (0, "")
    for name in files:
        try:
            data = (root / name).read_bytes()
        except OSError:
            continue
        total, largest = total + len(data), max(largest, (len(data), name))
        if total > MOST:
            raise UsageError(
                f"the project has more than {MOST // 10**6} MB of files, which is too much to "
                f"send; the largest so far is {largest[1]} ({largest[0] // 10**6} MB)\n"
                "next: let git ignore it, or count here, without --on"
            )
        contents[os.fsencode(name)] = data
    return zlib.compress(msgpack.encode(contents), 1)


@contextmanager
def unpacked(bundle: bytes, inside: str) -> Iterator[Path]:
    """A directory for as long as the context lasts, with the files of a bundle below the path
    `inside` in it. Raises OSError."""
    contents = msgpack.decode(zlib.decompress(bundle), type=dict[bytes, bytes])
    with temporary_directory("nparam-lint-") as place:
        top = Path(place)
        for name, data in contents.items():
            path = top / inside / os.fsdecode(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        yield top
