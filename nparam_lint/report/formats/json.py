"""A command's own document for programs, in one line of ASCII: valid on every terminal and in every
encoding, undecodable file names included. Schema version 1: keys may be added, none changed."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nparam_lint.report import Document, Options


def render(document: Document, options: Options) -> str:  # noqa: ARG001
    import msgspec

    data = document.data()
    with suppress(UnicodeEncodeError):  # a surrogate, for what could not be decoded
        fast = msgspec.json.encode(data)  # the tables of a zoo are a hundred megabytes
        if fast.isascii():
            return fast.decode() + "\n"
    return json.dumps(data, separators=(",", ":"), allow_nan=False) + "\n"
