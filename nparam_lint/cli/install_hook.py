"""`nparam-lint install-hook`: a plain git hook; where a tool manages the hooks, what its config
needs."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from nparam_lint.cli.hook_managers import END, Manager, line_for, manager_of, runs
from nparam_lint.config.interpreter import named_interpreter
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.repository.git import Repository, open_repository

USAGE = "nparam-lint install-hook [--pre-push] [--post-rewrite] [options]"
DESCRIPTION = (
    "Install git hooks that check what is staged at every commit, in every project of the "
    "repository, wherever this command is run. Where husky, lefthook, prek or pre-commit manages "
    "the hooks, say what its config needs."
)

# Git runs the second one instead of the first for a merge without conflicts.
HOOKS = ("pre-commit", "pre-merge-commit")
# For what runs neither: a rebase, a cherry-pick, commits that are made with --no-verify.
MORE = {
    "pre-push": "refuse to push commits whose budgets do not hold, however they were made",
    "post-rewrite": "report, after a rebase, budgets that do not hold (which can no longer be "
    "stopped)",
}
SOURCE = Path(__file__).with_name("hook.sh")
_OURS = b"# The nparam-lint hook:"
_OTHER_THAN_SHELL = late_pattern(r"#!(?!.*\b(?:a|ba|da|k|z)?sh\b)")
# Parts of the paths of environments that uvx and pipx run make for one command.
_TEMPORARY = late_pattern(r"[/\\](?:(?:archive|builds)-v\d+|pipx[/\\](?:\.cache|cache))[/\\]")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "projects",
        nargs="*",
        metavar="PROJECT",
        help="not needed: every project of the repository is checked, with its own config",
    )
    for name, text in MORE.items():
        parser.add_argument(
            f"--{name}", action="append_const", dest="more", const=name, help=f"also {text}"
        )
    parser.add_argument(
        "--python", metavar="PATH", help="the project's interpreter or environment, for these hooks"
    )
    parser.add_argument("--uninstall", action="store_true", help="remove these hooks again")


def run(options: Namespace) -> int:
    repository = open_repository(Path.cwd(), options.environ)
    directory = repository.hooks()
    if options.uninstall:
        _uninstall(repository, [directory / name for name in (*HOOKS, *MORE)])
        return 0
    for text in options.projects:
        place = Path(text)
        if not place.is_dir():
            raise UsageError(f"there is no directory {text}")
        if not place.resolve().is_relative_to(repository.top.resolve()):
            raise UsageError(f"{text} is outside of the repository at {repository.top}")
    installed = [name for name in MORE if _is_ours(directory / name)]
    wanted = [name for name in MORE if name in (*installed, *(options.more or ()))]
    hooks = [directory / name for name in (*HOOKS, *wanted)]
    if managed := manager_of(repository.top, hooks):
        return _advise(*managed, hooks, options)
    script = _script(repository, directory, options.python)
    for hook in hooks:
        _refuse_foreign(hook)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for hook in hooks:  # in one step each, so that git never finds half of one
            draft = hook.with_name(f".{hook.name}.{secrets.token_hex(4)}")
            try:
                draft.write_text(script, encoding="utf-8", newline="\n")
                draft.chmod(0o755)
                draft.replace(hook)  # a link, too
            finally:
                draft.unlink(missing_ok=True)
            print(f"installed {hook}")
    except OSError as error:
        raise UsageError(f"cannot write to {directory}: {error.strerror}") from None
    if options.projects:
        print(
            "every project of the repository is checked, including these; to exclude one, add "
            f'to the config at {repository.top}: exclude = ["DIRECTORY/**"]'
        )
    return 0


def _advise(manager: Manager, config: Path, hooks: Sequence[Path], options: Namespace) -> int:
    """Say what the manager's config needs; an error where nothing in it runs nparam-lint."""
    if options.python:
        raise UsageError(
            f"option --python: the hooks are those of {manager.name}, for other machines too\n"
            'next: python = "…" in the config'
        )
    places, needs = _places(config, hooks), list[str]()
    for file, text in manager.entries(config, [hook.name for hook in hooks]):
        place, how = os.path.relpath(file), "also add" if needs else "add"
        needs.append(f"in all, {place} needs:" if places else f"next: {how} to {place}:")
        needs += [f"    {line}" for line in text.splitlines()]
    absent = [hook for hook in hooks if not places or not hook.exists()]
    if manager.then and absent:
        names = (f" {manager.option} {hook.name}" for hook in absent if manager.option)
        needs.append(f"then: {manager.then}{''.join(names)}")
    if not places:
        first = f"the hooks of this repository are those of {manager.name}; nothing was changed"
        raise UsageError("\n".join([first, *needs]))
    print(f"{manager.name} runs nparam-lint already: {', '.join(places)}", *needs, sep="\n")
    return 0


def _places(config: Path, hooks: Sequence[Path]) -> list[str]:
    """The lines by which a manager runs nparam-lint."""
    files = [config / hook.name for hook in hooks] if config.is_dir() else [config]
    return [
        f"{os.path.relpath(file)}:{number}"
        for file in files
        if file.is_file()
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1)
        if runs(line)
    ]


def _script(repository: Repository, directory: Path, models_python: str | None) -> str:
    """The hook. Where it lies among the user's files, for others to use too, it names no
    interpreter of this machine, and finds one by itself; `models_python` is refused there."""
    git = repository.top / repository.run("rev-parse", "--git-common-dir").removesuffix("\n")
    place = directory.resolve()
    shared = place.is_relative_to(repository.top.resolve())
    shared = shared and not place.is_relative_to(git.resolve())
    python = "" if shared else _lasting_python()
    text = SOURCE.read_text(encoding="utf-8")
    text = text.replace("\npython='' ", f"\npython={shlex.quote(python)} ", 1)
    if not models_python:
        return text
    if shared:
        raise UsageError(
            f"option --python: the hooks in {directory} are files of the repository, for other "
            "machines too\n"
            'next: python = "…" in the config'
        )
    named = os.path.abspath(named_interpreter(models_python, Path.cwd(), "option --python"))
    return text.replace("\nmodels_python='' ", f"\nmodels_python={shlex.quote(named)} ", 1)


def _uninstall(repository: Repository, hooks: Sequence[Path]) -> None:
    """Raises UsageError where a manager still runs nparam-lint."""
    for place in hooks:
        if _is_ours(place):
            place.unlink()
            print(f"removed {place}")
        elif place.name in MORE:
            continue  # not installed unless it was asked for
        elif os.path.lexists(place):
            print(f"not changed, since nparam-lint did not install it: {place}")
        else:
            print(f"there is no {place}")
    if managed := manager_of(repository.top, hooks):
        manager, config = managed
        if places := _places(config, hooks):
            raise UsageError(
                f"the hooks of this repository are those of {manager.name}, which runs "
                f"nparam-lint\nnext: remove it from {', '.join(places)}"
            )


def _is_ours(place: Path) -> bool:
    return place.is_file() and _OURS in place.read_bytes()


def _refuse_foreign(place: Path) -> None:
    """Raises UsageError for a hook that is not ours, and says how both can run."""
    if not os.path.lexists(place) or _is_ours(place):
        return
    content = place.read_bytes() if place.is_file() else b""
    lines = content.decode("utf-8", "replace").splitlines()
    first = f" (it begins: {lines[0][:60]})" if lines else ""
    # The command that runs this nparam-lint from any directory.
    program = Path(_lasting_python()).with_name("nparam-lint")
    command = [program] if program.is_file() else [sys.executable, "-m", "nparam_lint"]
    line = line_for(place.name, shlex.join(map(str, command)))
    how = "add this line to it"
    if lines and _OTHER_THAN_SHELL.match(lines[0]):
        how = "let it run this line in a shell, and fail where that fails"
    elif end := END.search(content.decode("utf-8", "replace")):
        how += f", before {end[0].rstrip()[:60]}"
    raise UsageError(
        f"{place} is the hook of another tool{first}, and was not changed\n"
        f"next: {how}:\n      {line}"
    )


def _lasting_python() -> str:
    """The interpreter that hooks may name. Raises UsageError for one that will be gone."""
    if _TEMPORARY.search(sys.prefix + os.sep):
        raise UsageError(
            f"this nparam-lint was made for one command: its environment, {sys.prefix}, will be "
            "deleted, and the hook would stop every commit\n"
            "next: uv tool install nparam-lint (or pipx install nparam-lint), then nparam-lint "
            "install-hook"
        )
    return os.path.abspath(sys.executable)
