"""`nparam-lint completion SHELL`: a script that completes commands, options and files.

The scripts are static: they hold all commands and options, as the parsers know them.
"""

from __future__ import annotations

import argparse
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from nparam_lint.cli import common
from nparam_lint.cli.main import COMMANDS, parser_of
from nparam_lint.ground.metrics import DEVICE_NAMES
from nparam_lint.ground.rule_catalogue import RULES

USAGE = "nparam-lint completion SHELL"
DESCRIPTION = """\
Print a script that completes commands, options and files.

  bash  in ~/.bashrc:                   source <(nparam-lint completion bash)
  zsh   in ~/.zshrc, below compinit:    source <(nparam-lint completion zsh)
  fish  in ~/.config/fish/config.fish:  nparam-lint completion fish | source

The script is that of this version: print it again after an update, if it is kept in a file.
"""
Kind = Literal["flag", "any", "file", "choice"]
_FILES = ("FILE", "PATH", "TARGET", "FILE|TARGET")

_ARMS = """\
# Made by: nparam-lint completion {shell}
_nparam_lint_say() {{ # COMMAND PREVIOUS: sets options, kind and values
    options='' kind=any values=''
    case "$1" in
{arms}
    esac
}}
"""
_BASH = """\
_nparam_lint() {
    local commands='%s' options kind values
    local command=${COMP_WORDS[1]} current=$2 previous=$3
    [[ " $commands " == *" $command "* ]] || command=check
    _nparam_lint_say "$command" "$previous"
    if [[ $current == -* && $kind != value:* ]]; then
        kind=choice values=$options
    fi
    [[ $COMP_CWORD -eq 1 && $current != -* ]] && kind=choice values=$commands
    COMPREPLY=()
    [[ ${kind#value:} == choice ]] && COMPREPLY=($(compgen -W "$values" -- "$current"))
}
complete -o default -F _nparam_lint nparam-lint
"""
_ZSH = """\
_nparam_lint() {
    local commands='%s' options kind values
    local current=$PREFIX command=${words[2]} previous=${words[CURRENT-1]}
    [[ $CURRENT -gt 2 && " $commands " == *" $command "* ]] || command=check
    _nparam_lint_say "$command" "$previous"
    if [[ $current == -* && $kind != value:* ]]; then
        kind=choice values=$options
    fi
    [[ $CURRENT -eq 2 && $current != -* ]] && compadd -- ${=commands}
    case ${kind#value:} in
        choice) compadd -- ${=values} ;;
        file) _files ;;
    esac
}
compdef _nparam_lint nparam-lint
"""
_POSIX = {"bash": _BASH, "zsh": _ZSH}
SHELLS = (*_POSIX, "fish")


class Argument(Struct, frozen=True):
    """An option (`names`), or what stands without one. `values`: of a choice."""

    names: tuple[str, ...]
    kind: Kind
    values: tuple[str, ...]
    help: str


class CommandWords(Struct, frozen=True):
    name: str
    help: str
    options: tuple[Argument, ...]
    operand: Argument


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(options: Namespace) -> int:
    shell, every = options.shell, commands()
    if shell == "fish":
        script = _fish(every)
    else:
        names = " ".join(command.name for command in every)
        script = _ARMS.format(shell=shell, arms=_arms(every)) + _POSIX[shell] % names
    common.write(script, None)
    return 0


def commands() -> list[CommandWords]:
    """All commands, as their parsers describe them."""
    commands = []
    for name in COMMANDS:
        module, parser = parser_of(name)
        arguments = []
        for action in parser._actions:
            text = "" if action.help == argparse.SUPPRESS else (action.help or action.dest)
            values: tuple[str, ...] = tuple(map(str, action.choices or ()))
            if action.dest == "format":
                values = tuple(parser.get_default("formats"))
            elif action.dest == "device":
                values = DEVICE_NAMES
            elif action.metavar in ("CODE", "CODES"):
                values = tuple(RULES)
            kind: Kind = "choice" if values else "file" if action.metavar in _FILES else "any"
            if action.nargs == 0:
                kind, values = "flag", ()
            help = _first_sentence(text.replace("%%", "%"))
            arguments.append(Argument(tuple(action.option_strings), kind, values, help))
        options = tuple(argument for argument in arguments if argument.names and argument.help)
        operands = (argument for argument in arguments if not argument.names)
        operand = next(operands, Argument((), "any", (), ""))
        commands.append(CommandWords(name, _first_sentence(module.DESCRIPTION), options, operand))
    command = Argument((), "choice", COMMANDS, "")
    return [*commands, CommandWords("help", "the options of a command", (), command)]


def _first_sentence(text: str) -> str:
    """In one line, without the characters that shells read."""
    words = " ".join(text.split()).partition(". ")[0].rstrip(".").partition(": ")[0]
    return "".join(char for char in words if char not in "'\"`$\\[]")


# --- the scripts ----------------------------------------------------------------------------------


def _arms(commands: Sequence[CommandWords]) -> str:
    """The cases of a shell's function: what may follow a word of a command."""
    lines = []
    for command in commands:
        names = " ".join(name for option in command.options for name in option.names)
        lines.append(f"    {command.name})")
        lines.append(f"        options='{names}' {_says(command.operand)}")
        taking = [option for option in command.options if option.kind != "flag"]
        if taking:
            lines.append('        case "$2" in')
            lines += [f"        {'|'.join(o.names)}) {_says(o, 'value:')} ;;" for o in taking]
            lines.append("        esac")
        lines.append("        ;;")
    return "\n".join(lines)


def _says(argument: Argument, prefix: str = "") -> str:
    return f"kind={prefix}{argument.kind} values='{' '.join(argument.values)}'"


def _fish(commands: Sequence[CommandWords]) -> str:
    names = " ".join(command.name for command in commands)
    lines = [
        "# Made by: nparam-lint completion fish",
        "function __nparam_lint_in",
        "    set -l given (commandline -opc)",
        "    set -l command check",
        f'    contains -- "$given[2]" {names}; and set command $given[2]',
        "    test $command = $argv[1]",
        "end",
        "function __nparam_lint_first",
        "    test (count (commandline -opc)) -eq 1",
        "end",
        "complete -c nparam-lint -e",
    ]
    for command in commands:
        entry = f"-a {command.name} -d '{command.help}'"
        lines.append(f"complete -c nparam-lint -n __nparam_lint_first {entry}")
    for command in commands:
        inside = f"complete -c nparam-lint -n '__nparam_lint_in {command.name}'"
        for option in command.options:
            words = (f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            lines.append(f"{inside} {' '.join(words)} -d '{option.help}'{_fish_values(option)}")
        if command.operand.kind == "choice":
            lines.append(f"{inside}{_fish_values(command.operand)}")
    return "\n".join(lines)


def _fish_values(argument: Argument) -> str:
    if argument.kind == "choice":
        return f" -x -a '{' '.join(argument.values)}'"
    return {"flag": "", "file": " -r -F"}.get(argument.kind, " -x")
