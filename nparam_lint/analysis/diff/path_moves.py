"""Where a project and its files were at the base: paths relative to the repository, with `/`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Moves:
    """`renames`: old → new, as git tells it. `root`: the project's directory now, `root_then`: at
    the base; both are empty where it is the whole repository."""

    renames: Mapping[str, str]
    root: str
    root_then: str

    @property
    def files(self) -> dict[str, str]:
        """What was renamed, relative to the two roots."""
        return {
            _relative(old, self.root_then): _relative(new, self.root)
            for old, new in self.renames.items()
            if is_below(old, self.root_then) and is_below(new, self.root)
        }

    def then(self, path: str) -> Iterator[str]:
        """Where to look at the base for what is, or would be, at `path` now."""
        own = _joined(self.root_then, _relative(path, self.root))
        yield own
        for old, new in self.renames.items():
            if is_below(new, path) and is_below(old, self.root_then) and not is_below(old, own):
                yield old

    def now(self, path: str) -> Iterator[str]:
        """Where to look now for what is at `path`, or was there at the base."""
        own = _joined(self.root_then, _relative(path, self.root))
        yield path
        for old, new in self.renames.items():
            if is_below(old, own) and is_below(new, self.root) and not is_below(new, path):
                yield new


def find_moves(renames: Mapping[str, str], root: str, was: Callable[[str], bool]) -> Moves:
    """`was`: whether a directory existed at the base. Where the root did not, it was what most of
    its files were renamed from."""
    if not root or was(root):
        return Moves(renames, root, root)
    places: Counter[str] = Counter()
    for old, new in renames.items():
        name = new.removeprefix(f"{root}/")
        if name != new and old.endswith(f"/{name}"):
            places[old.removesuffix(f"/{name}")] += 1
    return Moves(renames, root, places.most_common(1)[0][0] if places else root)


def is_below(path: str, directory: str) -> bool:
    """Whether a path is a directory or below it; "" is the repository."""
    return not directory or path == directory or path.startswith(f"{directory}/")


def _relative(path: str, directory: str) -> str:
    return path.removeprefix(directory).removeprefix("/") if directory else path


def _joined(directory: str, path: str) -> str:
    return "/".join(part for part in (directory, path) if part)
