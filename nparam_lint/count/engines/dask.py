"""Dask.distributed. `dask://HOST:PORT` is the address of its scheduler, whoever started it and its
workers: the command line, dask-jobqueue (Slurm, PBS), dask-kubernetes."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING, Any

from distributed import Client, KilledWorker, get_worker
from distributed.worker import thread_state

from nparam_lint.count.engines import CONNECTING, Machines

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future


class DaskMachines(Machines):
    """The workers of a scheduler: each of their processes is a machine, by its address."""

    final = (KilledWorker,)

    def __init__(self, client: Client) -> None:
        self._client = client
        # Each call is one of its own, however alike; it is repeated by us.
        self._executor = client.get_executor(pure=False, retries=0)
        self._avoided: set[str] = set()

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        if self._avoided:
            more.setdefault("workers", list(self._workers()))
        future: Future[Any] = self._executor.submit(fn, *arguments, **more)
        return future

    def slots(self) -> int:
        return sum(self._workers().values())

    def submit_to_idle(self, fn: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        return self.submit(fn, *arguments, workers=[*self._idle()], allow_other_workers=True)

    def idle(self) -> int:
        return sum(self._idle().values())

    def _idle(self) -> dict[str, int]:
        """The workers that could do more, and how much."""
        try:
            calls = {name: len(keys) for name, keys in self._client.processing().items()}
        except OSError:  # it is gone
            return {}
        slots = {name: n - calls.get(name, 0) for name, n in self._workers().items()}
        return {name: n for name, n in slots.items() if n > 0}

    def ask(self, function: Callable[..., Any], *arguments: object) -> dict[str, object]:
        replies: dict[str, object] = self._client.run(function, *arguments, on_error="return")
        return replies

    def share(self, data: bytes) -> object:
        # Not `scatter`: what that sends is gone with the workers that have it, and needs some.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its size
            return self._client.submit(bytes, data, pure=False)

    def avoid(self, machine: str) -> None:
        self._avoided.add(machine)

    def why_lost(self) -> str | None:
        return None if self._client.status == "running" else "the scheduler is gone"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        self._client.close(timeout=2)

    def _workers(self) -> dict[str, int]:
        """How many calls each worker that may be used runs at a time, by its address."""
        try:
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        except OSError:  # it is gone
            return {}
        usable = [name for name in workers if name not in self._avoided] or list(workers)
        return {name: workers[name]["nthreads"] for name in usable}


def connect(address: str) -> DaskMachines:
    """Raises OSError where no scheduler answers."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("distributed"):  # what matters we say ourselves
            logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # versions of what we do not use
        place = address.replace("dask://", "tcp://", 1)
        client = Client(place, timeout=CONNECTING, set_as_default=False, name="nparam-lint")
    return DaskMachines(client)


# --- on the other machine -------------------------------------------------------------------------


def here() -> str:
    return str(get_worker().address)


def is_wanted() -> bool:
    """A call that runs cannot be stopped from outside: the worker only notes that it was
    cancelled, or that whoever asked for it is gone."""
    task = get_worker().state.tasks.get(thread_state.key)
    return task is not None and task.state == "executing"
