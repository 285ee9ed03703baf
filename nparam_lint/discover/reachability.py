"""What the nodes of a graph hold together with all that they lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Closures:
    """For a node, what it and every node that can be reached from it hold (`own`), each once.

    Nodes that lead to one another hold the same: each such part is worked out once (Tarjan's
    algorithm, without recursion), so that asking for all nodes costs no more than for one. Files
    that import each other in circles are such parts: in a large package nearly all are in one.
    """

    def __init__(
        self, follow: Callable[[str], Iterable[str]], own: Callable[[str], Iterable[str]]
    ) -> None:
        self._follow, self._own = follow, own
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, start: str) -> tuple[str, ...]:
        if start not in self._known:
            self._work_out(start)
        return self._known[start]

    def _work_out(self, start: str) -> None:
        index, low = {start: 0}, {start: 0}
        path, on_path = [start], {start}
        work = [(start, iter(self._follow(start)))]
        while work:
            node, following = work[-1]
            for other in following:
                if other in self._known:
                    continue
                if other not in index:
                    index[other] = low[other] = len(index)
                    path.append(other)
                    on_path.add(other)
                    work.append((other, iter(self._follow(other))))
                    break
                if other in on_path:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    part = [path.pop()]
                    while part[-1] != node:
                        part.append(path.pop())
                    on_path.difference_update(part)
                    self._finish(part[::-1])

    def _finish(self, part: list[str]) -> None:
        found: dict[str, None] = {}
        for node in part:
            found.update(dict.fromkeys(self._own(node)))
            for other in self._follow(node):
                found.update(dict.fromkeys(self._known.get(other, ())))
        value = tuple(found)
        self._known.update(dict.fromkeys(part, value))
