"""The engines that run groups of jobs on other machines: one file for each, named as in an address
(`dask://HOST:PORT`), and imported only when it is asked for.

Such a file has `connect(address)`, and two functions that are called on the other machine:
`here()`, its name among those that `ask` gives, and `is_wanted()`, whether anybody still waits for
the call. Its packages are an optional extra of ours with the same name.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from concurrent.futures import Executor
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nparam_lint.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

CONNECTING = 10.0  # seconds in which an address has to answer
# A function is named, and found there: one that is sent as an object cannot be read by a process
# without nparam-lint, which some engines do not survive.
_CALL = "__import__('pkgutil').resolve_name(name)(*arguments)"


class Machines(Executor):
    """An executor on other machines, which are processes of an engine there. `submit` is that of
    `concurrent.futures`; an argument may be what `share` returned. `final`: exceptions of calls
    that the engine itself has repeated often enough."""

    final: tuple[type[Exception], ...] = ()

    @abstractmethod
    def slots(self) -> int:
        """How many calls run at the same time now; 0 while no machine is there."""

    @abstractmethod
    def idle(self) -> int:
        """How many of these have nothing to do now."""

    def submit_to_idle(self, fn: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        """As `submit`, to a machine that has nothing to do now, where the engine can choose."""
        return self.submit(fn, *arguments)

    @abstractmethod
    def ask(self, function: Callable[..., Any], *arguments: object) -> dict[str, object]:
        """What each machine answers, by its name: a result, or the exception. It does not wait
        for the calls that run there."""

    @abstractmethod
    def share(self, data: bytes) -> object:
        """Something that stands for `data` in the arguments of a call: it is sent to each machine
        once."""

    @abstractmethod
    def avoid(self, machine: str) -> None:
        """Submit nothing to this machine any more, as long as there are others."""

    @abstractmethod
    def why_lost(self) -> str | None:
        """Why no call can come back any more; None while they can."""


def call_of(name: str, *arguments: object) -> tuple[Any, ...]:
    """What to submit so that a function is called: `module:function`."""
    return eval, _CALL, {"name": name, "arguments": arguments}


def engine_of(address: str) -> str:
    return address.partition("://")[0]


def connect(address: str) -> Machines:
    """The machines at an address. Raises UsageError where its packages are not installed, or where
    nobody answers in time."""
    name = engine_of(address)
    try:
        engine = import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{address} needs the package {error.name}, which is not installed; "
            f"next: pip install 'nparam-lint[{name}]'"
        ) from None
    try:
        machines: Machines = engine.connect(address)
    except (OSError, TimeoutError, ValueError, RuntimeError) as error:
        why = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
        raise UsageError(
            f"{address} cannot be reached: {why}\nnext: see that it runs, and that this machine "
            f"may connect to it; or leave out --on to count here"
        ) from None
    return machines
