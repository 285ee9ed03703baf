"""Decoders of JSON into dataclasses, made by one thread at a time.

msgspec notes what it knows of a class on the class before it knows all of it: a second thread that
makes a decoder of the same class meanwhile reads through a null pointer, and the process dies. The
two sides of `nparam-lint diff` are read by two threads. Decoders that are made can be shared
(https://github.com/msgspec/msgspec/issues/401).
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

_making = Lock()


def json_decoder(kind: Any) -> Any:
    """A `msgspec.json.Decoder` that allows nothing but what `kind`, a type, declares."""
    with _making:
        return _made(kind)


@cache
def _made(kind: Any) -> Any:
    from msgspec.json import Decoder

    return Decoder(kind)
