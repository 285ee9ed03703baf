"""The scripts that complete words in bash, zsh and fish."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nparam_lint.cli.completion import Argument, CommandWords

_TARGETS = "nparam-lint completion --targets"
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
    local line=${COMP_LINE:0:COMP_POINT} commands='%(commands)s'
    local current=${line##*[[:space:]]} options kind values before
    local -a given
    read -ra given <<< "${line%%"$current"}" # not COMP_WORDS, which are parted at each colon
    local command=${given[1]:-} previous=${given[${#given[@]} - 1]}
    [[ " $commands " == *" $command "* ]] || command=check
    _nparam_lint_say "$command" "$previous"
    if [[ $current == -* && $kind != value:* ]]; then
        kind=choice values=$options
    fi
    kind=${kind#value:}
    [[ ${#given[@]} -eq 1 && $current != -* ]] && kind=choice values=$commands
    COMPREPLY=()
    local IFS=$'\\n'
    case $kind in
        choice) COMPREPLY=($(IFS=' ' compgen -W "$values" -- "$current")) ;;
        target) COMPREPLY=($(%(targets)s="$current" 2> /dev/null)) ;;
    esac
    before=${current%%"${current##*[:=]}"}
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o default -F _nparam_lint nparam-lint
"""
_ZSH = """\
_nparam_lint() {
    local commands='%(commands)s' options kind values
    local current=$PREFIX command=${words[2]} previous=${words[CURRENT-1]}
    [[ $CURRENT -gt 2 && " $commands " == *" $command "* ]] || command=check
    _nparam_lint_say "$command" "$previous"
    if [[ $current == -* && $kind != value:* ]]; then
        kind=choice values=$options
    fi
    [[ $CURRENT -eq 2 && $current != -* ]] && compadd -- ${=commands}
    case ${kind#value:} in
        choice) compadd -- ${=values} ;;
        target) compadd -- ${(f)"$(%(targets)s="$current" 2> /dev/null)"}; _files ;;
        file) _files ;;
    esac
}
compdef _nparam_lint nparam-lint
"""


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


def _posix(shell: str, body: str) -> Callable[[Sequence[CommandWords]], str]:
    def script(commands: Sequence[CommandWords]) -> str:
        names = " ".join(command.name for command in commands)
        start = _ARMS.format(shell=shell, arms=_arms(commands))
        return start + body % {"commands": names, "targets": _TARGETS}

    return script


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
        said = f"-a {command.name} -d '{command.help}'"
        lines.append(f"complete -c nparam-lint -n __nparam_lint_first {said}")
    for command in commands:
        inside = f"complete -c nparam-lint -n '__nparam_lint_in {command.name}'"
        lines += [f"{inside} {_fish_names(o)}{_fish_values(o)}" for o in command.options]
        if command.operand.kind in ("target", "choice"):
            lines.append(f"{inside}{_fish_values(command.operand)}")
    return "\n".join(lines)


def _fish_names(option: Argument) -> str:
    names = (f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
    return f"{' '.join(names)} -d '{option.help}'"


def _fish_values(argument: Argument) -> str:
    if argument.kind == "choice":
        return f" -x -a '{' '.join(argument.values)}'"
    if argument.kind == "target":
        return f""" -a '({_TARGETS}="$(commandline -ct)")'"""
    return {"flag": "", "file": " -r -F"}.get(argument.kind, " -x")


SHELLS: dict[str, Callable[[Sequence[CommandWords]], str]] = {
    "bash": _posix("bash", _BASH),
    "zsh": _posix("zsh", _ZSH),
    "fish": _fish,
}
