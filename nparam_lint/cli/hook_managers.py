"""The tools that manage the hooks of a repository: how each is known, and what its config needs to
run nparam-lint. Nothing in it is about this machine: others use it, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import indent

from msgspec import Struct

from nparam_lint.ground.version import __version__

CHECK = "check --declared --staged"
# What a hook of that name has to run: on a push, what is pushed; after a rebase, what it made.
LINES = {
    "pre-push": "while read -r _ commit _; do git cat-file -e $commit^{{commit}} 2>/dev/null || "
    f"continue; PRE_COMMIT_TO_REF=$commit {{}} {CHECK} </dev/null || exit 1; done",
    "post-rewrite": f"PRE_COMMIT_TO_REF=HEAD {{}} {CHECK}",
}
_URL = "https://github.com/nparam-lint/nparam-lint"
_STAGES = "[pre-commit, pre-merge-commit, pre-push, post-rewrite]"


def line_for(hook: str, command: str) -> str:
    return LINES.get(hook, f"{{}} {CHECK} || exit 1").format(command)


def revision(version: str) -> str:
    """What names a version in the repository of nparam-lint: its tag, or, between two tags, the
    commit (`0.2.1.dev5+g1a2b3c4`)."""
    commit = re.search(r"\+g([0-9a-f]+)", version)
    return commit[1] if commit else f"v{version}"


class Addition(Struct, frozen=True):
    """What a file needs. `content`: the file with it; None where it is written in another way than
    is known here."""

    file: Path
    lines: str
    content: str | None


class Manager(Struct, frozen=True):
    """`configs`: its own config files, or directory, from the top of a repository: where one is, it
    manages the hooks; `shared`: those that another one reads as well; `mark`: what the hooks that
    it generates have in them. `additions` takes a config and the names of hooks. `then`: its
    command that installs hooks, and the option before each of their names."""

    name: str
    configs: tuple[str, ...]
    mark: bytes
    additions: Callable[[Path, Sequence[str]], Iterator[Addition]]
    then: str = ""
    option: str = ""
    shared: tuple[str, ...] = ()


def manager_of(top: Path, hooks: Sequence[Path]) -> tuple[Manager, Path] | None:
    """What manages the hooks of a repository, and its config."""
    texts = [hook.read_bytes() for hook in hooks if hook.is_file()]
    for manager in MANAGERS:
        names = (*manager.configs, *manager.shared)
        there = [name for name in names if (top / name).exists()]
        is_own = any(name in manager.configs for name in there)
        if is_own or any(manager.mark in text for text in texts):
            return manager, top / (there or names)[0]
    return None


# --- husky: a directory with a shell script for each hook -----------------------------------------


def _husky(directory: Path, hooks: Sequence[str]) -> Iterator[Addition]:
    for hook in hooks:
        file, line = directory / hook, line_for(hook, "nparam-lint") + "\n"
        before = file.read_text("utf-8") if file.exists() else ""
        yield Addition(file, line, _ended(before) + line)


# --- lefthook: YAML with a key for each hook ------------------------------------------------------


def _lefthook(config: Path, hooks: Sequence[str]) -> Iterator[Addition]:
    lines, content = [], _ended(config.read_text("utf-8"))
    is_known = config.suffix in (".yml", ".yaml")
    for hook in hooks:
        run = f"run: nparam-lint {CHECK}\n"
        if hook in LINES:
            line = line_for(hook, "nparam-lint")
            run = f"use_stdin: true\nrun: |\n  {line}\n" if hook == "pre-push" else f"run: {line}\n"
        command = f"nparam-lint:\n{indent(run, '  ')}"
        lines.append(f"{hook}:\n  commands:\n{indent(command, '    ')}")
        block = re.search(rf"^{hook}:[ \t]*(?:#.*)?\n((?:[ \t#].*\n|\n)*)", content, re.MULTILINE)
        if block is None:
            is_known &= not re.search(rf"^[\"']?{hook}\b", content, re.MULTILINE)
            content += f"\n{lines[-1]}"
        elif parts := re.search(r"^( +)(commands|jobs):[ \t]*(?:#.*)?\n( *)", block[1], re.M):
            if parts[2] == "jobs":
                command = f"- name: nparam-lint\n{indent(run, '  ')}"
            at = block.start(1) + parts.start(3)
            content = content[:at] + indent(command, parts[3] or 2 * parts[1]) + content[at:]
        else:
            is_known = False
    yield Addition(config, "".join(lines), content if is_known else None)


# --- pre-commit and prek: a list of repositories, in YAML or TOML ---------------------------------


def _framework(config: Path, hooks: Sequence[str]) -> Iterator[Addition]:
    before = _ended(config.read_text("utf-8")) if config.exists() else "repos:\n"
    stages = _STAGES if "post-rewrite" in hooks else ""
    if config.suffix == ".toml":
        quoted = re.sub(r"[a-z-]+", r'"\g<0>"', stages)
        quoted = f", stages = {quoted}" if quoted else ""
        lines = (
            f'[[repos]]\nrepo = "{_URL}"\nrev = "{revision(__version__)}"\n'
            f'hooks = [{{ id = "nparam-lint"{quoted} }}]\n'
        )
        is_known = not re.search(r"^\s*repos\s*=", before, re.MULTILINE)  # a list in one piece
        yield Addition(config, lines, f"{before}\n{lines}" if is_known else None)
        return
    lines = f"- repo: {_URL}\n  rev: {revision(__version__)}\n  hooks:\n    - id: nparam-lint\n"
    lines += f"      stages: {stages}\n" if stages else ""
    block = re.search(r"^repos:[ \t]*(?:#.*)?\n((?:[ \t#-].*\n|\n)*)", before, re.MULTILINE)
    content = None
    if block is not None:
        first = re.search(r"^( *)- ", block[1], re.MULTILINE)
        margin = first[1] if first else "  "
        items = [*re.finditer(r"^[ -].*\n", block[1], re.MULTILINE)]  # a comment may be the next's
        end = block.start(1) + (items[-1].end() if items else 0)
        content = before[:end] + indent(lines, margin) + before[end:]
    yield Addition(config, indent(lines, "  "), content)


def _ended(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text


MANAGERS = (
    Manager("husky", (".husky",), b'. "$(dirname "$0")/h"', _husky),
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
