"""Ray. `ray://HOST:PORT` is the address of its client server (`ray start --head`, port 10001); it
has to run the same versions of Ray and Python as this process."""

from __future__ import annotations

import socket
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import ray

from nparam_lint.count.engines import CONNECTING, Machines

if TYPE_CHECKING:
    from collections.abc import Callable

_ANSWERING = 60.0  # seconds in which a node starts a process of its own, and answers


class RayMachines(Machines):
    """The nodes of a cluster: each is a machine, by its id."""

    def __init__(self) -> None:
        self._call = ray.remote(_call)
        self._avoided: set[str] = set()

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **more: Any) -> Future[Any]:
        if self._avoided and len(_usable(self._avoided)) < len(_nodes()):
            more["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(self._avoided))})"}
        # What fails is repeated by us.
        call = self._call.options(max_retries=0, num_cpus=1, **more)
        reference = call.remote(fn, *arguments)
        # Not Ray's own: its thread ends when it finds that it was cancelled.
        future: Future[Any] = Future()

        def pass_on(ended: Future[Any]) -> None:
            with suppress(InvalidStateError):  # it was cancelled
                if (error := ended.exception()) is not None:
                    future.set_exception(error)
                else:
                    future.set_result(ended.result())

        def cancel(ended: Future[Any]) -> None:
            if ended.cancelled():
                ray.cancel(reference)

        reference.future().add_done_callback(pass_on)
        future.add_done_callback(cancel)
        return future

    def slots(self) -> int:
        usable = _usable(self._avoided)
        return sum(int(node["Resources"].get("CPU", 0)) for node in usable)

    def idle(self) -> int:
        return int(ray.available_resources().get("CPU", 0))

    def ask(self, function: Callable[..., Any], *arguments: object) -> dict[str, object]:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        calls = {}
        for node in _nodes():
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            call = self._call.options(max_retries=0, num_cpus=0, scheduling_strategy=there)
            calls[node["NodeID"]] = call.remote(function, *arguments)
        return {name: _result(reference) for name, reference in calls.items()}

    def share(self, data: bytes) -> object:
        return ray.put(data)

    def avoid(self, machine: str) -> None:
        self._avoided.add(machine)

    def why_lost(self) -> str | None:
        return None if ray.is_initialized() else "the cluster is gone"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002
        ray.shutdown()


def connect(address: str) -> RayMachines:
    """Raises OSError where nobody answers, and RuntimeError where the versions differ."""
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port or 10001), CONNECTING):
        pass  # Ray itself would try for half a minute
    ray.init(address, log_to_driver=False, logging_level="ERROR")
    return RayMachines()


def _nodes() -> list[dict[str, Any]]:
    return [node for node in ray.nodes() if node["Alive"]]


def _usable(avoided: set[str]) -> list[dict[str, Any]]:
    """The nodes that are not avoided; all, where no other is left."""
    nodes = _nodes()
    return [node for node in nodes if node["NodeID"] not in avoided] or nodes


def _result(reference: Any) -> object:
    """What a call gave, or the exception that it ended with."""
    try:
        return ray.get(reference, timeout=_ANSWERING)
    except Exception as error:  # the call's own, in one of Ray's
        return getattr(error, "cause", None) or error


# --- on the other machine -------------------------------------------------------------------------


def _call(function: Callable[..., Any], code: str, names: dict[str, Any]) -> object:
    """Ray replaces no reference inside of an argument."""
    arguments = names["arguments"]
    found = [ray.get(one) if isinstance(one, ray.ObjectRef) else one for one in arguments]
    return function(code, {**names, "arguments": found})


def here() -> str:
    return str(ray.get_runtime_context().get_node_id())


def is_wanted() -> bool:
    """Ray interrupts a call that is cancelled, and ends the processes of who is gone."""
    return True
