"""The tools that manage the hooks of a repository: how each is known, and what has to be put into
its config, which is written by hand, to run nparam-lint. Nothing in it is about this machine:
others use it, too."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import indent

from msgspec import Struct

from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.version import __version__

CHECK = "check --declared --staged"
# What a hook of that name has to run: on a push, what is pushed; after a rebase, what it made.
LINES = {
    "pre-push": "while read -r _ commit _; do git cat-file -e $commit^{{commit}} 2>/dev/null || "
    f"continue; PRE_COMMIT_TO_REF=$commit {{}} {CHECK} </dev/null || exit 1; done",
    "post-rewrite": f"PRE_COMMIT_TO_REF=HEAD {{}} {CHECK}",
}
_URL = "https://github.com/nparam-lint/nparam-lint"
# Those of .pre-commit-hooks.yaml.
_STAGES = ("pre-commit", "pre-merge-commit", "pre-push")
END = late_pattern(r"^(?:exit|exec)\b.*\n?", re.MULTILINE)  # nothing behind it runs
_NO_COMMAND = late_pattern(r"(?:^|(?<=\s))#.*|https?://\S+")
# A command or the id of a hook: no key or file, and no other hook's id. What reads the source alone
# checks no count.
_RUN = late_pattern(r"""\bnparam[-_]lint(?![^\s"'},]|["']?:)(?!.*--static)""")


def line_for(hook: str, command: str) -> str:
    return LINES.get(hook, f"{{}} {CHECK} || exit 1").format(command)


def runs(line: str) -> bool:
    return _RUN.search(_NO_COMMAND.sub("", line)) is not None


def revision(version: str) -> str:
    """What names a version in the repository of nparam-lint: its tag, or, between two tags, the
    commit (`0.2.1.dev5+g1a2b3c4`)."""
    commit = re.search(r"\+g([0-9a-f]+)", version)
    return commit[1] if commit else f"v{version}"


class Manager(Struct, frozen=True):
    """`configs`: its own config files, or directory, from the top of a repository: where one is, it
    manages the hooks; `shared`: those that another one reads as well; `mark`: what the hooks that
    it generates have in them. `entries` takes a config and the names of hooks, and gives files with
    what to put into each. `then`: its command that installs hooks, and the option before each of
    their names. `is_above`: the config is the directory above those hooks."""

    name: str
    configs: tuple[str, ...]
    mark: bytes
    entries: Callable[[Path, Sequence[str]], Iterator[tuple[Path, str]]]
    then: str = ""
    option: str = ""
    shared: tuple[str, ...] = ()
    is_above: bool = False


def manager_of(top: Path, hooks: Sequence[Path]) -> tuple[Manager, Path] | None:
    """What manages the hooks of a repository, and its config."""
    texts = {hook: hook.read_bytes() for hook in hooks if hook.is_file()}
    for manager in MANAGERS:
        names = (*manager.configs, *manager.shared)
        configs = [name for name in names if (top / name).exists()]
        is_own = any(name in manager.configs for name in configs)
        marked = [hook for hook, text in texts.items() if manager.mark in text]
        if marked and manager.is_above:
            return manager, marked[0].parent.parent
        if is_own or marked:
            return manager, top / (configs or names)[0]
    return None


def _husky(directory: Path, hooks: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """A shell script for each hook."""
    for hook in hooks:
        yield directory / hook, line_for(hook, "nparam-lint")


def _lefthook(config: Path, hooks: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """YAML, TOML or JSON with a key for each hook."""
    commands: dict[str, dict[str, object]] = {}
    for hook in hooks:
        line = line_for(hook, "nparam-lint") if hook in LINES else f"nparam-lint {CHECK}"
        commands[hook] = {"run": line} | ({"use_stdin": True} if hook == "pre-push" else {})
    if config.suffix == ".json":
        tables = {hook: {"commands": {"nparam-lint": keys}} for hook, keys in commands.items()}
        yield config, json.dumps(tables, indent=2)
        return
    head, item = "{}:\n  commands:\n    nparam-lint:\n", "      {}: {}\n"
    if config.suffix == ".toml":
        head, item = "[{}.commands.nparam-lint]\n", "{} = {}\n"
    sections = (
        head.format(hook) + "".join(item.format(key, json.dumps(keys[key])) for key in keys)
        for hook, keys in commands.items()
    )
    yield config, "".join(sections)


def _framework(config: Path, hooks: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """A list of repositories, in YAML or TOML."""
    stages = [*_STAGES, "post-rewrite"] if "post-rewrite" in hooks else []
    rev = revision(__version__)
    if config.suffix == ".toml":
        listed = f", stages = {json.dumps(stages)}" if stages else ""
        hook = f'hooks = [{{ id = "nparam-lint"{listed} }}]'
        yield config, f'[[repos]]\nrepo = "{_URL}"\nrev = "{rev}"\n{hook}\n'
        return
    listed = f"      stages: [{', '.join(stages)}]\n" if stages else ""
    lines = f"- repo: {_URL}\n  rev: {rev}\n  hooks:\n    - id: nparam-lint\n{listed}"
    yield config, indent(lines, "  ")


MANAGERS = (
    Manager("husky", (".husky",), b'. "$(dirname "$0")/h"', _husky, is_above=True),
    Manager(
        "lefthook",
        tuple(
            f"{place}lefthook.{ending}"
            for place in ("", ".", ".config/")
            for ending in ("yml", "yaml", "toml", "json")
        ),
        b"LEFTHOOK",
        _lefthook,
        "lefthook install",
    ),
    Manager(
        "prek",
        ("prek.toml",),
        b"File generated by prek",
        _framework,
        "prek install",
        "--hook-type",
        (".pre-commit-config.yaml", ".pre-commit-config.yml"),
    ),
    Manager(
        "pre-commit",
        (),
        b"File generated by pre-commit",
        _framework,
        "pre-commit install",
        "--hook-type",
        (".pre-commit-config.yaml",),
    ),
)
