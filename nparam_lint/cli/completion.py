"""`nparam-lint completion SHELL`: a script that completes commands, options and targets.

The scripts are static: they hold all commands and options, as the parsers know them. Only targets
are asked for while one types, by `completion --targets PREFIX`, which reads source, and no torch.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from nparam_lint import UsageError
from nparam_lint.cli import common
from nparam_lint.cli.shells import SHELLS
from nparam_lint.count.worker.capabilities import DEVICE_NAMES
from nparam_lint.rules import RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = "nparam-lint completion SHELL"
DESCRIPTION = """\
Print a script that completes commands, options, files and targets (nets/vit.py::ViT).

  bash   add to ~/.bashrc:                 source <(nparam-lint completion bash)
  zsh    add to ~/.zshrc, below compinit:  source <(nparam-lint completion zsh)
  fish   nparam-lint completion fish > ~/.config/fish/completions/nparam-lint.fish

The script is that of this version: print it again after an update, if it is kept in a file.
"""
Kind = Literal["flag", "any", "file", "target", "choice"]
_KINDS: dict[str, Kind] = {
    "FILE": "file",
    "PATH": "file",
    "TARGET": "target",
    "FILE|TARGET": "target",
}


@dataclass(frozen=True, slots=True)
class Argument:
    """An option (`names`), or what stands without one. `values`: of a choice."""

    names: tuple[str, ...]
    kind: Kind
    values: tuple[str, ...]
    help: str


@dataclass(frozen=True, slots=True)
class CommandWords:
    name: str
    help: str
    options: tuple[Argument, ...]
    operand: Argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=SHELLS, help=", ".join(SHELLS))
    parser.add_argument("--targets", metavar="PREFIX", help=argparse.SUPPRESS)


def run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if options.targets is not None:
        with suppress(UsageError, OSError):  # one who types wants no message in between
            common.write("\n".join(_targets(options.targets, environ)), None)
    elif options.shell is None:
        raise UsageError(f"which shell?\nnext: nparam-lint completion {' | '.join(SHELLS)}")
    else:
        common.write(SHELLS[options.shell](commands()), None)
    return 0


def _targets(prefix: str, environ: Mapping[str, str]) -> list[str]:
    """The targets that begin so, and the models whose name does."""
    from nparam_lint.cli.targets import models_below

    parser = argparse.ArgumentParser()
    common.add_building(parser)
    settings = common.settings_for(parser.parse_args([]), environ, Path.cwd())
    known = models_below(settings)
    names = {name.rpartition("::")[2] for name in known}
    return sorted(word for word in {*known, *names} if word.startswith(prefix))


def commands() -> list[CommandWords]:
    """All commands, as their parsers describe them."""
    from nparam_lint.cli.main import COMMANDS, parser_of

    found = []
    for name in COMMANDS:
        module, parser = parser_of(name)
        arguments = [(one, _argument(one, parser)) for one in parser._actions]
        options = tuple(own for one, own in arguments if one.option_strings and own.help)
        operands = (own for one, own in arguments if not one.option_strings)
        operand = next(operands, Argument((), "any", (), ""))
        found.append(CommandWords(name, _first_sentence(module.DESCRIPTION), options, operand))
    asked = Argument((), "choice", COMMANDS, "")
    return [*found, CommandWords("help", "the options of a command", (), asked)]


def _argument(action: argparse.Action, parser: argparse.ArgumentParser) -> Argument:
    shown = "" if action.help == argparse.SUPPRESS else (action.help or action.dest)
    names, text = tuple(action.option_strings), _first_sentence(shown.replace("%%", "%"))
    metavar = str(action.metavar)
    values: tuple[str, ...] = tuple(map(str, action.choices or ()))
    if action.dest == "format":
        values = tuple(parser.get_default("formats"))
    elif action.dest == "device":
        values = DEVICE_NAMES
    elif metavar in ("CODE", "CODES"):
        values = tuple(RULES)
    if action.nargs == 0:
        return Argument(names, "flag", (), text)
    return Argument(names, "choice" if values else _KINDS.get(metavar, "any"), values, text)


def _first_sentence(text: str) -> str:
    """In one line, without the characters that shells read."""
    words = " ".join(text.split()).partition(". ")[0].rstrip(".").partition(": ")[0]
    return "".join(char for char in words if char not in "'\"`$\\[]")
