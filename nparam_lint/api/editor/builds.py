"""One thread that checks and builds, so that the editor never waits.

Work that is wanted again replaces what was wanted before. If it is being done by then, it is out of
date: it has `PATIENCE` to come to its end, then its worker is ended.
"""

from __future__ import annotations

import threading
import traceback
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from nparam_lint.count.run import STARTING
from nparam_lint.count.worker_process import stop_working

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from nparam_lint.config.session import Progress

    Work = Callable[[Progress], None]

T = TypeVar("T")
# Seconds that work which is out of date may go on. To end its worker sooner gains nothing: another
# one has to import torch first.
PATIENCE = 2.0
LATER = 3  # the rank of work for which nobody waits


class Superseded(BaseException):
    """What is being done is out of date. No error, which would be reported."""


class Builds:
    """What is wanted, and what is being done. `is_stale`: that is out of date, and nothing of it is
    to be shown. In that thread `progress` is told what is counted, `settled` is called when all is
    done, and `failed` with an error that nobody expected."""

    def __init__(
        self,
        progress: Progress,
        settled: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.progress, self.settled, self.failed = progress, settled, failed
        self._queue: dict[Hashable, tuple[int, Work]] = {}
        self._current: Hashable = None
        self.is_stale = self._is_over = False
        self._news = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="builds", daemon=True)
        self._thread.start()

    def want(self, key: Hashable, work: Work, rank: int) -> None:
        """Do this soon, what has the lowest rank first. It replaces work with the same key."""
        with self._news:
            self.drop(key)
            self._queue[key] = rank, work
            self._news.notify()

    def drop(self, key: Hashable) -> None:
        """This is not wanted any more."""
        with self._news:
            self._queue.pop(key, None)
            if self._current == key and not self.is_stale:
                self.is_stale = True
                late = threading.Timer(PATIENCE, self._end_stale, (key,))
                late.daemon = True
                late.start()

    def ask(self, work: Callable[[Progress], T]) -> Future[T]:
        """The result of some work that somebody waits for, before all else."""
        answer: Future[T] = Future()

        def run(progress: Progress) -> None:
            if answer.set_running_or_notify_cancel():
                try:
                    answer.set_result(work(progress))
                except BaseException as error:
                    answer.set_exception(error)

        self.want(object(), run, 0)
        return answer

    def close(self) -> None:
        """End the thread, and all processes."""
        with self._news:
            self._is_over = self.is_stale = True
            self._queue.clear()
            self._news.notify()
        stop_working()
        self._thread.join(timeout=10)

    def _end_stale(self, key: Hashable) -> None:
        with self._news:
            if self._current == key and self.is_stale:
                stop_working()

    def _progress(self, done: int, every: int, label: str) -> None:
        """Work that is stale starts no other worker."""
        if self.is_stale and label == STARTING:
            raise Superseded
        self.progress(done, every, label)

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._queue or self._is_over)
                if self._is_over:
                    return
                key = min(self._queue, key=lambda key: self._queue[key][0])
                _, work = self._queue.pop(key)
                self._current, self.is_stale = key, False
            try:
                work(self._progress)
            except Superseded:
                pass
            except Exception as error:
                traceback.print_exc()  # editors keep it in a log
                self.failed(error)
            finally:
                with self._news:
                    self._current = None
                    is_settled = not (self._queue or self._is_over)
            if is_settled:
                self.settled()
