"""Shell scripts and Makefiles, as texts in which one command after another can be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRIPT = late_pattern(r"(\.(sh|bash|sbatch|slurm|mk)|(^|/)(GNU)?[Mm]akefile)$")
_BRANCHES = 8
_INTERPRETER = late_pattern(
    r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*[:?]?=[ \t]*[\"']?(?:\$\{\w+:?-)?"
    r"(?:[\w./-]*/)?(python3?)\}?[\"']?[ \t]*$",
    re.MULTILINE,
)
_CASE = late_pattern(r"^[ \t]*case[ \t][^\n]*[ \t]in\b(.*?)^[ \t]*esac\b", re.MULTILINE | re.DOTALL)
_BRANCH = late_pattern(r"\)(.*?);;", re.DOTALL)
_FUNCTION = late_pattern(
    r"^(?:function[ \t]+)?(\w+)[ \t]*\([ \t]*\)[ \t]*\{(.*?)^\}", re.MULTILINE | re.DOTALL
)
# What runs the command that a variable holds; and where it gets one.
_RUN = r"^[ \t]*(?:eval[ \t]+)?\"?\$\{?(\w+)\}?\"?[ \t]*$"
_HELD = r"^[ \t]*{0}(?P<more>\+?)=(?P<quote>[\"'])(?P<value>(?:(?!(?P=quote)).)*)(?P=quote)"
_ARGUMENTS = late_pattern(r"[\"']?\$[@*][\"']?")


def is_script(path: str) -> bool:
    return bool(_SCRIPT.search(path))


def is_makefile(path: str) -> bool:
    """Whether each line of a text is run by itself."""
    return path.endswith(".mk") or path.rpartition("/")[2].lower().endswith("makefile")


def plain_texts(text: str) -> Iterator[str]:
    """The text with the interpreter by its name, a command that a variable holds where that is run,
    and a function that hands its arguments on where it is called; with each branch of its first
    `case` alone. Lines stay where they are."""
    for name, interpreter in _INTERPRETER.findall(text):
        text = re.sub(rf"\$(?:{name}\b|\{{{name}\}}|\({name}\))", interpreter, text)
    for name in dict.fromkeys(re.findall(_RUN, text, re.MULTILINE)):
        text = _where_run(name, text)
    for match in [*_FUNCTION.finditer(text)]:
        name, body = match[1], " ".join(match[2].replace("\\\n", " ").split("\n"))
        if _ARGUMENTS.search(body):
            text = text.replace(match[0], "\n" * match[0].count("\n"))
            call = re.compile(rf"^[ \t]*{name}\b((?:[^\n\\]|\\\n)*)", re.MULTILINE)
            for match in [*call.finditer(text)]:
                text = text.replace(match[0], match[1].join(_ARGUMENTS.split(body)), 1)
    case = _CASE.search(text)
    if case is None:
        yield text
        return
    every = _BRANCH.finditer(text, case.start(1), case.end())
    branches = [match for match in every if not re.search(r"\b(exit|usage)\b", match[1])]
    for branch in branches[:_BRANCHES]:
        inside = "\n" * text.count("\n", case.start(), branch.start(1)) + branch[1]
        rest = "\n" * text.count("\n", branch.end(1), case.end())
        yield text[: case.start()] + inside + rest + text[case.end() :]


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
