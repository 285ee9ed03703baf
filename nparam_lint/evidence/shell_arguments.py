"""Arguments of shell scripts and functions: `bash run.sh train 64` where run.sh has `--dim $2`."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from fnmatch import fnmatchcase
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# `$1`, `"$@"`, `${2:-64}`, `${@:3}`, `$#`
_PARAMETER = late_pattern(
    r"(?P<quote>\"?)\$(?:(?P<plain>[1-9@*#])"
    r"|\{(?P<name>[1-9]\d*|[@*#])(?:(?P<sign>:?[-=?+]|:)(?P<other>[^{}]*))?\})(?P=quote)"
)
_SHIFT = late_pattern(r"(?:^|;|&&)[ \t]*shift\b(?:[ \t]+(\d+))?", re.MULTILINE)
# What goes through the arguments in a loop, and may take any of them away.
_OPTION_LOOP = late_pattern(
    r"\bgetopts?\b|parse_options|\bset[ \t]+--|\b(?:while|until)\b[^\n]*(?:\$#|\$\{?1\b)"
)
_BRANCHING = late_pattern(
    r"(?:^|[;{])[ \t]*(?:(?:then|do)[ \t]+)?(?P<word>if|elif|else|fi)\b"
    r"(?:[ \t]*\[\[?[ \t]+(?P<test>(?:[^\s\]]+[ \t]+){2,3})\]\]?[ \t]*(?=;|\n))?",
    re.MULTILINE,
)
_OPENING = late_pattern(r"(?<![\w$-])(if|fi|case|esac|do|done)(?![\w-])|#[^\n]*")
_ENDS = {"if": "fi", "case": "esac", "do": "done"}
_CASE = late_pattern(
    r"^[ \t]*case[ \t]+([^\n]*?)[ \t]+in\b(.*?)^[ \t]*esac\b", re.MULTILINE | re.DOTALL
)
_BRANCH = late_pattern(r"([^()\n]*)\)(.*?);;", re.DOTALL)
_VARIABLE = late_pattern(r"\$(?:\{(\w+)\}|(\w+))")
_OPERATOR = late_pattern(r"[;&|'\"`()#]")
_WORD = late_pattern(r"[\w./+:=@%,-]*")
_SAME: dict[str, Callable[[object, object], bool]] = {"=": eq, "==": eq, "!=": ne}
_IS_EMPTY = {"-z": "==", "-n": "!="}
_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": eq,
    "-ne": ne,
    "-lt": lt,
    "-le": le,
    "-gt": gt,
    "-ge": ge,
}


def takes_arguments(text: str) -> bool:
    """Whether a script, or the body of a function, uses its arguments one by one or all."""
    if not _PARAMETER.search(text) or _OPTION_LOOP.search(text):
        return False
    return all(_is_outside(text[: shift.start()]) for shift in _SHIFT.finditer(text))


def with_arguments(text: str, words: Sequence[str]) -> str:
    """A script, or the body of a function, as it is run with these arguments: without the branches
    that they do not choose. Without any, what has no other value is left as it is."""
    given, parts, start = list(words), [], 0
    for shift in [*_SHIFT.finditer(text)]:
        parts.append(_filled(text[start : shift.start()], given))
        given, start = given[int(shift[1] or 1) :], shift.end()
    parts.append(_filled(text[start:], given))
    return _chosen_cases(_chosen_branches("".join(parts)))


def branches(text: str) -> Iterator[tuple[str, list[str], str, str]]:
    """For each branch of the first `case` of a text: what is compared, with what, the branch, and
    the text with it alone. Lines stay where they are."""
    if case := _CASE.search(text):
        for branch in _BRANCH.finditer(text, case.start(2), case.end(2)):
            inside = "\n" * text.count("\n", case.start(), branch.start(2)) + branch[2]
            rest = "\n" * text.count("\n", branch.end(2), case.end())
            patterns = [pattern.strip(" \t(\"'") for pattern in branch[1].split("|")]
            alone = text[: case.start()] + inside + rest + text[case.end() :]
            yield case[1], patterns, branch[2], alone


def _is_outside(before: str) -> bool:
    """Whether what follows this is in no branch, and no loop."""
    words = Counter(_OPENING.findall(before))
    return all(words[first] == words[last] for first, last in _ENDS.items())


def _filled(text: str, words: Sequence[str]) -> str:
    """A text with these words for its parameters, as the shell reads them."""

    def value(match: re.Match[str]) -> str:
        name = match["plain"] or match["name"]
        sign, other, quote = (match["sign"] or "")[-1:], match["other"] or "", match["quote"]
        is_value = text[match.start() - 1 : match.start()] == "="
        if name == "#":
            return f"{quote}{len(words)}{quote}"
        if name in "@*":
            start = int(other) - 1 if sign == ":" and other.strip().isdigit() else 0
            rest = " ".join(map(shlex.quote, words[start:]))
            return f'"{rest}"' if is_value else rest
        word = words[int(name) - 1] if int(name) <= len(words) else ""
        if word and sign == "+":
            word = other
        elif not word and sign in ("-", "="):
            word = other.strip("\"'")
        elif not words and sign != "+":
            return match[0]
        is_whole = quote or (is_value and " " in word) or _OPERATOR.search(word)
        return shlex.quote(word) if is_whole else word

    return _PARAMETER.sub(value, text)


def _known(word: str, text: str) -> str | None:
    """What a word of a condition is, if that can be said: a variable that the text sets once."""
    word = word.strip("\"'")
    if variable := _VARIABLE.fullmatch(word):
        name = variable[1] or variable[2]
        sets = rf"(?:^|[;{{])[ \t]*(?:(?:export|local|readonly)[ \t]+)?{name}\+?=([^\s;]*)"
        values = re.findall(sets, text, re.MULTILINE)
        word = values[0].strip("\"'") if len(values) == 1 else "$"
    return word if _WORD.fullmatch(word) else None


def _holds(test: str, text: str) -> bool | None:
    """Whether a condition holds, `$MODE == "train"`; None where that is not known."""
    words = test.split()
    if words[0] in _IS_EMPTY:
        words = [words[1], _IS_EMPTY[words[0]], ""]
    if len(words) != 3:
        return None
    left, right = _known(words[0], text), _known(words[2], text)
    if left is None or right is None:
        return None
    if words[1] in _SAME:
        return _SAME[words[1]](left, right)
    is_number = left.isdigit() and right.isdigit() and words[1] in _NUMBERS
    return _NUMBERS[words[1]](int(left), int(right)) if is_number else None


def _chosen_branches(text: str) -> str:
    """A text without the branches of its conditions that are not taken, if all conditions end."""
    parts: list[str] = []
    outer: list[tuple[bool, bool]] = []  # of each condition around: in a branch that may be taken;
    start, word = 0, ""  # and whether one before is
    for match in _BRANCHING.finditer(text):
        piece = text[start : match.start()]
        is_taken = all(may for may, _ in outer)
        parts.append(piece if is_taken else f";{word}" + "\n" * piece.count("\n"))
        start, word = match.start(), match["word"]
        if word != "if" and not outer:
            return text
        _, was = outer.pop() if word != "if" else (True, False)
        if word != "fi":
            holds = word == "else" or (_holds(match["test"], text) if match["test"] else None)
            outer.append((not was and holds is not False, was or holds is True))
    return text if outer else "".join((*parts, text[start:]))


def _chosen_cases(text: str) -> str:
    """A text with the branch that is taken for each `case` whose word is known."""
    while choices := [*branches(text)]:
        word = _known(choices[0][0], text)
        if word is None:
            return text
        chosen = (inside for _, patterns, _, inside in choices if _matches(word, patterns))
        text = next(chosen, "")
    return text


def _matches(word: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(word, pattern) for pattern in patterns)
