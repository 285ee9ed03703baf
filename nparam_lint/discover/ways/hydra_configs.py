"""Where Hydra finds the config files of a project, and how it composes them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.files import ancestors, join, parent

if TYPE_CHECKING:
    from nparam_lint.discover.ways.config_files import ConfigFile, ConfigFiles, ModelNode
    from nparam_lint.discover.ways.config_outline import Keys

_MAIN = re.compile(r"hydra\s*\.\s*main\s*\(([^)]*)\)|(?<!\w)initialize\s*\(([^)]*)\)")
_ARGUMENT = r"""{}\s*=\s*["']([^"']*)["']"""
_PACKAGE = re.compile(r"#\s*@package\s+(\S+)")
_LOGGING = "'hydra/job_logging=default', 'hydra/hydra_logging=default'"


class _Main(NamedTuple):
    """What a script says of its configs: their directory, and the file that is composed first."""

    root: str
    name: str


class HydraConfigs:
    """The configs that Hydra composes in a project."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_property
    def mains(self) -> list[_Main]:
        """What the scripts of the project say, those that train first."""
        tree = self.files.found.tree
        found = []
        for path in sorted(tree.files, key=lambda p: ("train" not in p, p)):
            source = tree.source(path)
            if b"hydra" not in source or b"config_path" not in source:
                continue
            for match in _MAIN.finditer(source.decode("utf-8", "replace")):
                folder = _argument("config_path", match[1] or match[2] or "")
                name = _argument("config_name", match[1] or match[2] or "") or "config"
                if folder is not None:
                    found.append(_Main(_relative(parent(path), folder), name.split(".yaml")[0]))
        return list(dict.fromkeys(found))

    def composed(self, node: ModelNode, file: ConfigFile) -> tuple[str, Keys] | None:
        """The lines that compose the config of a node, and its keys there; None where the file
        needs nothing but itself."""
        refers = "${" in file.text
        if not refers and not any(entry.keys == ("defaults",) for entry in file.entries):
            return None
        main = self._main(file.path)
        root = main.root if main else parent(file.path)
        name = file.path[len(root) + 1 if root else 0 :].rpartition(".")[0]
        if main is None or main.name == name or not refers:
            return _compose(root, name, ()), (*self._package(file, name), *node.keys)
        first = self.files.file(join(main.root, f"{main.name}.yaml"))
        group, _, option = name.rpartition("/")
        plus = "" if first and group in _defaults(first) else "+"
        override = f"{plus}{group}={option}" if group else ""
        keys = (*self._package(file, name), *node.keys)
        return _compose(main.root, main.name, (override,) if override else ()), keys

    def _main(self, path: str) -> _Main | None:
        above = [*ancestors(parent(path))]
        return next((main for main in self.mains if main.root in above), None)

    def _package(self, file: ConfigFile, name: str) -> Keys:
        said = _PACKAGE.match(file.text.lstrip())
        if said and said[1] != "_group_":
            return () if said[1] == "_global_" else tuple(said[1].split("."))
        return tuple(name.split("/")[:-1])


def _compose(root: str, name: str, overrides: tuple[str, ...]) -> str:
    given = f", overrides={[*overrides]!r}" if overrides else ""
    return (
        "import os\n"
        "from hydra import compose, initialize_config_dir\n"
        f"with initialize_config_dir(os.path.abspath({root!r}), version_base=None):\n"
        f"    config = compose({name!r}{given})"
    )


def _defaults(file: ConfigFile) -> dict[str, str]:
    """The groups of a defaults list, each with the option that is chosen."""
    found = {}
    for keys, _, value in file.entries:
        if keys[0] == "defaults" and len(keys) == 3:
            group = str(keys[2]).removeprefix("override ").removeprefix("optional ").lstrip("/")
            found[group.partition("@")[0]] = value
    return found


def _argument(name: str, text: str) -> str | None:
    match = re.search(_ARGUMENT.format(name), text)
    return match[1] if match else None


def _relative(folder: str, path: str) -> str:
    parts = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)
