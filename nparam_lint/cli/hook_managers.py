"""The tools that manage the hooks of a repository: how each is known, and what its config needs to
run nparam-lint. Nothing in it is about this machine: others use it, too."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from textwrap import indent

from msgspec import Struct

from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

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
END = re.compile(r"^(?:exit|exec)\b.*\n?", re.MULTILINE)  # nothing behind it runs
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
# A command or the id of a hook: no key, file or address, and no other hook's id. What reads the
# source alone checks no count.
_RUN = re.compile(r"""\bnparam[-_]lint(?![^\s"'},]|["']?:)(?!.*--static)""")
_HOOK = re.compile(r"""\bid["']?\s*[:=](?:(?!\b(?:id|repo)["']?\s*[:=]).)*""", re.DOTALL)
_LISTED = re.compile(r"""\bstages["']?\s*[:=]([\s\[,"'\w-]*)""")


def line_for(hook: str, command: str) -> str:
    return LINES.get(hook, f"{{}} {CHECK} || exit 1").format(command)


def runs(text: str) -> bool:
    return _RUN.search(_COMMENT.sub("", text)) is not None


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
    it generates have in them. `additions` takes a config and the names of hooks, and leaves out
    those that run nparam-lint already. `then`: its command that installs hooks, and the option
    before each of their names. `is_above`: the config is the directory above those hooks."""

    name: str
    configs: tuple[str, ...]
    mark: bytes
    additions: Callable[[Path, Sequence[str]], Iterator[Addition]]
    then: str = ""
    option: str = ""
    shared: tuple[str, ...] = ()
    is_above: bool = False


def manager_of(top: Path, hooks: Sequence[Path]) -> tuple[Manager, Path] | None:
    """What manages the hooks of a repository, and its config."""
    texts = {hook: hook.read_bytes() for hook in hooks if hook.is_file()}
    for manager in MANAGERS:
        names = (*manager.configs, *manager.shared)
        there = [name for name in names if (top / name).exists()]
        is_own = any(name in manager.configs for name in there)
        marked = [hook for hook, text in texts.items() if manager.mark in text]
        if marked and manager.is_above:
            return manager, marked[0].parent.parent
        if is_own or marked:
            return manager, top / (there or names)[0]
    return None


# --- husky: a directory with a shell script for each hook -----------------------------------------


def _husky(directory: Path, hooks: Sequence[str]) -> Iterator[Addition]:
    for hook in hooks:
        file, line = directory / hook, line_for(hook, "nparam-lint") + "\n"
        before = file.read_text("utf-8") if file.exists() else ""
        if not runs(before):
            end = END.search(before)
            first, rest = (before[: end.start()], before[end.start() :]) if end else (before, "")
            yield Addition(file, line, _ended(first) + line + rest)


# --- lefthook: YAML, TOML or JSON with a key for each hook ----------------------------------------

_YAML = (".yml", ".yaml")


def _lefthook(config: Path, hooks: Sequence[str]) -> Iterator[Addition]:
    before = _ended(config.read_text("utf-8"))
    wanted = [hook for hook in hooks if not runs(_section(config, before, hook))]
    if wanted and config.suffix not in _YAML:
        yield Addition(config, _other_than_yaml(config, wanted), None)
        return
    lines, content, is_known = [], before, True
    for hook in wanted:
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
    if lines:
        yield Addition(config, "".join(lines), content if is_known else None)


def _other_than_yaml(config: Path, hooks: Sequence[str]) -> str:
    """What lefthook's config needs for these hooks, in TOML or JSON."""
    commands = {}
    for hook in hooks:
        line = line_for(hook, "nparam-lint") if hook in LINES else f"nparam-lint {CHECK}"
        commands[hook] = {"run": line} | ({"use_stdin": True} if hook == "pre-push" else {})
    if config.suffix == ".json":
        tables = {hook: {"commands": {"nparam-lint": keys}} for hook, keys in commands.items()}
        return json.dumps(tables, indent=2)
    return "\n".join(
        f"[{hook}.commands.nparam-lint]\n"
        + "".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items())
        for hook, keys in commands.items()
    )


def _section(config: Path, text: str, hook: str) -> str:
    """What lefthook's config says of a hook."""
    if config.suffix in _YAML:
        pattern = rf"^[\"']?{hook}[\"']?:.*\n(?:[ \t#].*\n|\n)*"
        section = "".join(re.findall(pattern, text, re.MULTILINE))
        return text if re.search(r":[ \t]+\*", section) else section  # an alias: any part of it
    try:
        table = (json if config.suffix == ".json" else tomllib).loads(text)
    except ValueError as error:
        raise UsageError(f"cannot read {config}: {error}") from None
    return json.dumps(table.get(hook), indent=0)


# --- pre-commit and prek: a list of repositories, in YAML or TOML ---------------------------------


def _framework(config: Path, hooks: Sequence[str]) -> Iterator[Addition]:
    before = _ended(config.read_text("utf-8")) if config.exists() else "repos:\n"
    entries = [text for text in _HOOK.findall(_COMMENT.sub("", before)) if _RUN.search(text)]
    # Before pre-commit 3.2, the stages of pre-commit and pre-push were called commit and push.
    run = {name for entry in entries for name in _stages(entry)}
    wanted = [hook for hook in hooks if not run & {hook, hook.removeprefix("pre-")}]
    if not wanted:
        return
    listed = wanted if entries else (*_STAGES, "post-rewrite") if "post-rewrite" in wanted else ()
    stages = f"[{', '.join(listed)}]" if listed else ""
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


def _stages(entry: str) -> Sequence[str]:
    listed = _LISTED.search(entry)
    return re.findall(r"[\w-]+", listed[1]) if listed else _STAGES


def _ended(text: str) -> str:
    return text + "\n" if text and not text.endswith("\n") else text


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
