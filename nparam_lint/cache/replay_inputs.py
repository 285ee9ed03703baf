"""What the answer of a run depends on, kept for `replay`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from nparam_lint.cache import CONTENT, NOTHING, STATE, answers, name_of, now

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# The resolution of a file system's clock: a file that was changed so shortly before a run may be
# changed again without a trace.
_GRAIN = 50_000_000  # ns
_LONGEST = 4 << 20  # bytes of an answer that is kept


class ReplayInputs:
    """Collects the questions whose answers decide about the answer of a run (see `cache.now`).
    `is_complete`: it depends on nothing else that is known."""

    def __init__(self, start: int) -> None:
        """`start`: when the run began to read, in ns of the system's clock."""
        self.start = start
        # (question, place) → the answer, "" where it is found out at the end
        self.facts: dict[tuple[str, str], str] = {}
        self.is_complete = True

    def note(self, question: str, places: Iterable[str]) -> None:
        for place in places:
            self.facts.setdefault((question, place), "")

    def read(self) -> Iterator[str]:
        """The files and directories whose content counts."""
        return (place for question, place in self.facts if question == CONTENT)

    def add_source(self, root: str, files: Iterable[str], digest: Callable[[str], str]) -> None:
        """Files below `root` that were read, with the digest of what was read."""
        for file in files:
            with suppress(OSError):
                self.facts[CONTENT, os.path.join(root, file)] = digest(file)

    def keep(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        text: str,
        code: int,
        python: str = "",
    ) -> int:
        """Keep the answer, unless something that it depends on changed during the run; returns how
        many bytes it takes. `python`: the interpreter that models are built with, if any."""
        if not self.is_complete or os.name != "posix":  # elsewhere a file's state tells too little
            return 0
        lines = []
        for (question, place), answer in sorted(self.facts.items()):
            state = now(STATE, place, environ) if question in (CONTENT, STATE) else NOTHING
            if state != NOTHING and max(map(int, state.split(":")[:2])) > self.start - _GRAIN:
                return 0
            lines.append((state, question, answer or now(question, place, environ), place))
        output = text.encode(sys.stdout.encoding, sys.stdout.errors or "replace")
        if len(output) > _LONGEST or any("\n" in place for *_, place in lines):
            return 0
        head = b"%d %d %s\n" % (code, len(output), os.fsencode(python))
        body = head + output + os.fsencode("\n".join(map(" ".join, lines)))
        store = answers(environ)
        store.save(name_of(arguments, environ), body)
        return store.saved
