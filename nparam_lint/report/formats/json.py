"""A command's own document for programs, in one line of ASCII: valid on every terminal and in every
encoding, undecodable file names included. Schema version 1: keys may be added, none changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from typing import Any

import msgspec

from nparam_lint.report import Document, Options


def chunks(document: Document, options: Options) -> Iterator[str]:  # noqa: ARG001
    """One model after another: the tables of a zoo are a hundred megabytes."""
    before = "{"
    data: Any = document.data()
    for field in fields(data):
        value = getattr(data, field.name)
        if value is msgspec.UNSET:
            continue
        yield f'{before}"{field.name}":'
        if isinstance(value, Iterator):
            yield "["
            for number, item in enumerate(value):
                yield f"{',' if number else ''}{_encoded(item)}"
            yield "]"
        else:
            yield _encoded(value)
        before = ","
    yield "}\n"


def _encoded(data: object) -> str:
    with suppress(UnicodeEncodeError):  # a surrogate, for what could not be decoded
        fast = msgspec.json.encode(data)
        if fast.isascii():
            return fast.decode()
    return json.dumps(msgspec.to_builtins(data), separators=(",", ":"), allow_nan=False)
