"""A limit for the time that a piece of work takes in this process."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class TooSlow(Exception):
    """The code in a `time_limit` took too long."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow in this context after so many seconds: between two steps of Python, or in the
    middle of a regular expression search. It has no effect outside the main thread, without POSIX
    timers, and while another timer is active."""
    is_first = threading.current_thread() is threading.main_thread()
    if not is_first or os.name != "posix" or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    has_expired = False

    def expire(*_: object) -> None:
        nonlocal has_expired
        has_expired = True
        raise TooSlow

    before = signal.signal(signal.SIGALRM, expire)
    # Once more, where it came while the garbage was collected, which loses exceptions.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    except SystemError:  # `ast` of Python 3.11 where it is interrupted
        if has_expired:
            raise TooSlow from None
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
