"""Shell scripts and Makefiles, as texts in which one command after another can be read."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from nparam_lint.evidence.shell_arguments import branches, takes_arguments, with_arguments
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCRIPT = late_pattern(r"(\.(sh|bash|sbatch|slurm|mk)|(^|/)(GNU)?[Mm]akefile)$")
_BRANCHES = 8
_INTERPRETER = late_pattern(
    r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?]?=[ \t]*[\"']?(?:\$\{\w+:?-)?"
    r"(?:[\w./-]*/)?(python3?)\}?[\"']?[ \t]*$",
    re.MULTILINE,
)
_FUNCTION = late_pattern(
    r"^(?:function[ \t]+([\w-]+)(?:[ \t]*\([ \t]*\))?|([\w-]+)[ \t]*\([ \t]*\))\s*"
    r"\{([^\n]*(?=\}[ \t]*$)|.*?(?=^\}))\}",
    re.MULTILINE | re.DOTALL,
)
_LOCAL = late_pattern(r"(?m)(^|;)[ \t]*local[ \t]+([^\n;]*)")
_ASSIGNMENT = late_pattern(r"\w+=(?:\"[^\"]*\"|'[^']*'|\S*)")
_COMMENT = late_pattern(r"(?<!\S)#[^\n]*")
# What runs the command that a variable holds; and where it gets one.
_RUN = r"^[ \t]*(?:eval[ \t]+)?\"?\$\{?(\w+)\}?\"?[ \t]*$"
_HELD = r"^[ \t]*{0}(?P<more>\+?)=(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote)).)*)(?P=quote)"


def is_script(path: str) -> bool:
    return bool(_SCRIPT.search(path))


def is_makefile(path: str) -> bool:
    """Whether each line of a text is run by itself."""
    return path.endswith(".mk") or path.rpartition("/")[2].lower().endswith("makefile")


def plain_text(text: str) -> str:
    """The text with the interpreter by its name, a command that a variable holds where that is run,
    and a function that takes arguments where it is called. Lines stay where they are."""
    for name, interpreter in _INTERPRETER.findall(text):
        text = re.sub(rf"\$(?:{name}\b|\{{{name}\}}|\({name}\))", interpreter, text)
    for name in dict.fromkeys(re.findall(_RUN, text, re.MULTILINE)):
        text = _where_run(name, text)
    names = [function[1] or function[2] for function in _FUNCTION.finditer(text)]
    for name in names:
        functions = (f for f in _FUNCTION.finditer(text) if name in (f[1], f[2]))
        function = next(functions, None)
        # Not one that only says that something is wrong, and exits.
        if function and _runs_something(function[3], names) and takes_arguments(function[3]):
            text = _where_called(function, text)
    return text


def _runs_something(body: str, functions: Sequence[str]) -> bool:
    words = re.findall(r"-?[\w-]+", body)
    return not {"py", "-m", "sh"}.union(functions).isdisjoint(words)


def plain_texts(text: str) -> list[str]:
    """A plain text with each branch of its first `case` alone."""
    inner = [
        inside
        for _, _, branch, inside in branches(text)
        if not re.search(r"\b(exit|usage)\b", branch)
    ]
    return inner[:_BRANCHES] or [text]


def _where_called(function: re.Match[str], text: str) -> str:
    """The text with what a function does in the places where it is called."""

    def called(match: re.Match[str]) -> str:
        try:
            words = shlex.split(match[2].replace("\\\n", " "), comments=True)
        except ValueError:  # a quote that ends elsewhere
            return match[0]
        body = _COMMENT.sub("", with_arguments(function[3], words).replace("\\\n", " "))
        body = _LOCAL.sub(lambda local: local[1] + "; ".join(_ASSIGNMENT.findall(local[2])), body)
        return match[1] + "; ".join(body.split("\n")) + "\n" * match[0].count("\n")

    others = text.replace(function[0], "\n" * function[0].count("\n"))
    name = re.escape(function[1] or function[2])
    call = rf"((?:^|[;&|{{(]|\b(?:do|then|else)\b)[ \t]*){name}(?![\w=(./-])((?:[^\n\\;&|>]|\\\n)*)"
    others, calls = re.subn(call, called, others, flags=re.MULTILINE)
    return others if calls else text


def _where_run(name: str, text: str) -> str:
    """The text with the command that a variable holds in the places where that is run."""
    command = ""

    def replaced(match: re.Match[str]) -> str:
        nonlocal command
        value, whole = match["value"], match[0]
        if value is None:
            return command or whole
        value = re.sub(rf"\$\{{?{name}\b\}}?", lambda _: command, value.replace("\\\n", " "))
        command = command + value if match["more"] else value
        return "\n" * whole.count("\n")

    either = "|".join((_HELD.format(name), _RUN.replace(r"(\w+)", name)))
    return re.sub(either, replaced, text, flags=re.MULTILINE | re.DOTALL)
