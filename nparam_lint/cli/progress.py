"""What a run is doing: in one line of the terminal, from its first second on; elsewhere in a line
now and then, so that a log shows that it lives."""

from __future__ import annotations

import shutil
import threading
import time
from typing import TextIO

from nparam_lint.report.style import elide_target

_OFTEN = 0.1  # seconds between two drawings: a zoo has a hundred models a second
_EVERY = 1.0  # seconds after which it is drawn anew, so that one sees the time pass
_SELDOM = 20.0  # the same where it is no terminal: each drawing is a line
_LEAST = 2  # seconds of which it is said how long it still takes


class ProgressLine:
    """Called with how many of how many models are done, and the one that is being built, or what
    else is being done (a text that ends in `…`). Several runs after each other count on."""

    often, seldom = _OFTEN, _EVERY

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.start = self.drawn = time.monotonic()
        self.began: float | None = None  # when the first model was begun
        self.count = self.every = self.before = 0  # before: in earlier runs
        self.label = self.shown = ""
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.ticker: threading.Thread | None = None

    def __call__(self, count: int, every: int, label: str) -> None:
        with self.lock:
            if count < self.count:  # another run
                self.before += self.every
            self.count, self.every, self.label = count, every, label
            if self.began is None and not label.endswith("…"):
                self.began = time.monotonic()
            if time.monotonic() - self.drawn >= self.often or not count:
                self._draw()
        if self.ticker is None:  # not before: what reads the source may fork
            self.ticker = threading.Thread(target=self._tick, daemon=True)
            self.ticker.start()

    def show(self, text: str) -> None:
        """Draw a text in place of the line."""
        text = text[: shutil.get_terminal_size().columns - 1]
        if text != self.shown:
            print(f"\r\x1b[K{text}", end="", file=self.stream, flush=True)
        self.shown, self.drawn = text, time.monotonic()

    def end(self) -> None:
        self.ended.set()
        if self.ticker:
            self.ticker.join()
        self.show("")

    def _tick(self) -> None:
        while not self.ended.wait(self.seldom):
            with self.lock:
                self._draw()

    def _draw(self) -> None:
        self.show(self.text(time.monotonic()))

    def text(self, now: float) -> str:
        """The line: which model, how many, and how long still; or for how long already."""
        if self.label.endswith("…"):
            waited = int(now - self.start)
            return f"{self.label}  {waited} s" if waited >= _LEAST else self.label
        head = f"counting {self.before + self.count}/{self.before + self.every}  "
        tail = self._time(now)
        room = shutil.get_terminal_size().columns - 1 - len(head) - len(tail)
        return head + elide_target(self.label, max(room, 8)) + tail

    def _time(self, now: float) -> str:
        if self.began is None or self.before:
            return f"  {now - self.start:.0f} s"
        if not self.count:
            return ""
        rest = (now - self.began) / self.count * (self.every - self.count)
        if rest < _LEAST:
            return ""
        return f"  about {rest:.0f} s left" if rest < 100 else f"  about {rest / 60:.0f} min left"


class ProgressLog(ProgressLine):
    """The same for a file or a pipe: a line every twenty seconds, and none of a run that is over by
    then."""

    often = seldom = _SELDOM

    def show(self, text: str) -> None:
        now = time.monotonic()
        if text and now - self.drawn >= self.often:
            print(f"nparam-lint: {text}", file=self.stream, flush=True)
            self.drawn = now
