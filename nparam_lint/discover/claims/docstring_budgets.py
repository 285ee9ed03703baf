"""The budgets that a docstring declares: `nparam…: VALUE` lines, and blocks under a bare `nparam:`.

Whatever begins like a budget and cannot be read is returned as malformed, never skipped.
"""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.ground.notation import (
    Selector,
    TextError,
    Unclosed,
    closing_bracket,
    parse_selector,
    read_call,
    read_host,
    read_selector,
    shifted,
    without_comment,
)
from nparam_lint.ground.notation.grammar import EXAMPLES, Value, parse_value
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.values import DocLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.ground.notation import Target

    _How = tuple[str | None, Target | None]  # the arguments, and the model that it stands in

# Turns a source into its words in lower case, at the speed of memory.
_WORDS = bytes(ord(chr(b).lower()) if b < 128 and chr(b).isalnum() else 32 for b in range(256))
_WORD = r"n[-_]?param(?:eter)?s?(?!_*[^\W_]|[-.]\w)"
_HINT = late_pattern("[nN][-_]?[pP][aA][rR][aA][mM]")
_SPELLED = late_pattern(rb"(?:\b|_|\\n)" + _WORD.encode(), re.IGNORECASE)
# Read as the ASCII character that they look like; what is invisible, as a space: columns stay.
_FOLDED: dict[int, int | str] = {0xFF01 + n: 0x21 + n for n in range(94)}
_FOLDED |= dict.fromkeys((0xFE55, 0xFE13, 0x2236, 0xA789, 0x02D0, 0x02F8, 0x205A, 0x0589), ":")
_FOLDED |= dict.fromkeys((0xAD, 0x180E, 0xFEFF, *range(0x200B, 0x2010)), " ")
_FOLDED |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2060, 0x2070)), " ")
_CLOSED_BY = dict(zip("([{<“‘«", ")]}>”’»", strict=True)) | {c: c for c in "`*_'\"|$"}
_MARKS = late_pattern("[\\s`*_'\"”’»$]*")
# What may stand between the word and its number, apart from `(ARGUMENTS)` and `[SELECTOR]`.
_LINK = r"""(?:[`*_'"”’»]*\\?:{1,2}=?[`*_'"”’»]*|=+|[-=–—]+>|[→⇒–—…|]|\.{2,}
    |(?:of|for|in)\b[^:=\n]{1,40}[:=]|(?:,?\s*\b(?:is|are|was|be|of|has
    |should|must|equals?|about|around|approx(?:imately)?\.?|roughly|circa|ca\.?|nearly|exactly|at|most
    |least|under|below|up|to|the|a|total|count|budget)(?!\w))+\s*[:=]?)"""
_CLAIM = late_pattern(
    rf"""(?<![\w/])(?<![^\d]\.)(?<!--)(?P<mark>[`*_'"“‘«]{{1,9}})?(?P<word>{_WORD})(?P<end>[`*_'"”’»$]*)\s*
    (?P<what>(?:\((?:[^()]|\([^()]{{0,999}}\)){{0,999}}\))?\s*(?:\[[^\[\]]{{0,999}}\]|\{{\w+\}}(?=:))?
    (?:\(\s*in\b(?:[^()]|\([^()]{{0,999}}\)){{0,999}}\))?)
    (?(mark)[`*_'"”’»]*)\s*(?P<link>{_LINK})?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = late_pattern(
    r"""(?:[`'"“‘«(\[{]|\*\*?(?=\S)|_)*(?P<count>
    (?P<sign>(?:(?:[<>]=?|[≤≥~≈±]|\+/-)\s*){1,2}[`'"*]{0,3})?\.?[0-9][\w.,%]*(?:\s*(?:±|\+/?-)\s*[0-9][\w.,%]*)?)""",
    re.VERBOSE,
)
_NUMBER_FIRST = late_pattern(
    rf"(?<![\w.,/^*+-])(?P<count>[0-9][\w.,]*)\s+(?P<word>{_WORD})(?!\s*[(\[:=])", re.IGNORECASE
)
_OPERATOR = late_pattern(r"[*+]|\b(?:min|max|abs|ceil|floor)\(")
_CONDITION = late_pattern(r"\b(?:if|when|while|where|assert|unless|until|and|or|not|for|with)\s+$")
# Bullets of any kind, numbers, quotes and brackets before the word, but no other word.
_LEAD = late_pattern(r"(?:[\W_]|[^\W_]{1,3}[.)](?=\s)|\[[^\W_]\](?=\s))*")
# Whatever begins with the very word, behind marks, a tag or a directive, and leads to a number.
_TAG = r"</?[a-zA-Z][^<>\n]{0,99}>"
_ALIKE = late_pattern(
    rf"(?:[\W_]|{_TAG}|\.\.\s[\w:-]+::)*?(?P<word>nparam)(?!\w|-lint)", re.IGNORECASE
)
_COUNT = rf"(?:{_TAG}|[^\w\n]){{0,20}}[0-9][\w.,%]*(?:{_TAG}|[\W_]){{0,20}}$"
_LED_TO = late_pattern(rf"[:=](?=\s|<){_COUNT}")
_BELOW = late_pattern(rf"(?::\w+:)?{_COUNT}")
_DOTTED = late_pattern(r"\.(?P<module>\w[\w.*]*)\s*[:=]\s*(?P<count>.+)")
# In the documented spelling it is meant as a budget, whatever follows.
_EXACT = late_pattern(r"\s*(?:[-*]\s+)?:?nparam(?=[(\[:])")
_BARE = late_pattern(r"[`*_'\"”’»]*\s*(?P<colon>:{1,2})[\s`*_'\"”’»]*(?:#.*)?$")
_COLON = late_pattern(r"\\?:{1,2}=?")
# A number behind another sign, and no more in the line.
_ALONE = late_pattern(r"[-,;]\s*[~<>=]*[0-9][\w.,]*[\W_]*$")
_FAR = 999  # characters, in which a formula has its first operator
_MOST_MARKS = 9  # around a value
_FEW_LINES = 6  # in which a number below a word is looked for
_MOST_LINES = 200  # of one budget; it is parsed again with each
_RULE = late_pattern(r"[\W_]*$")
_BULLET = late_pattern(r"""\s*(?:(?:[^\w\s(\[<>~≈≤≥±"']|[0-9]{1,2}[.)])\s+)?""")
_ENTRY_SELECTOR = late_pattern(r"""([^:'"()\[\]#]+):""")
_ENTRY_ARGUMENTS = late_pattern(r"\s*(?:\[[^\]]*\])?\s*:")


class Declared(Struct, frozen=True):
    """A budget; `line` and `column` (from 1) are those of the value's first character. `host`: the
    model inside which it holds."""

    arguments: str | None
    selector: Selector
    value: Value
    line: int
    column: int
    host: Target | None = None


class Malformed(Struct, frozen=True):
    """What was found and expected at a place."""

    message: str
    line: int
    column: int


class Stray(Struct, frozen=True):
    """A claim in a place where budgets are not read: its text, its offset, and the line that it
    should be."""

    text: str
    offset: int
    line: str


def mentions(source: bytes) -> bool:
    """Whether a file may hold a claim: all others need not be looked at for one. In UTF-16 there
    are null bytes between its letters."""
    source = source.replace(b"\0", b"")
    if b"nparam" in source:
        return True
    words = source.translate(_WORDS, b"_-")  # of `\\nNPARAM` the word is `nnparam`
    has_word = b" nparam" in words or b" nnparam" in words
    return has_word and _SPELLED.search(source) is not None


def declares(lines: Sequence[DocLine]) -> bool:
    """Whether a docstring holds a budget, readable or not."""
    return any(True for _ in _entries(lines))


def find_stray(text: str, below: str = "") -> Stray | None:
    """The first claim in a line that nothing reads as a budget: the word beside a number, or before
    the colon of a formula. `nparams = 7` is code that is left out, and so is `if nparam > 7`.
    `below`: the text that follows."""
    text = text.translate(_FOLDED)
    for match in _CLAIM.finditer(text):
        number, link, start = _number(text, match), match["link"] or "", match.start("word")
        is_code = "=" in link and ":" not in link and match["word"].lower() != "nparam"
        is_code |= not link and _CONDITION.search(_before(text, match)) is not None
        end = number.end() if number else len(text)
        if line := "" if number and is_code else _as_documented(text, match):
            claim = text[start:end].rstrip(" .,")
            return Stray(claim + ")" * (claim.count("(") - claim.count(")")), start, line)
    if first := _NUMBER_FIRST.search(text):
        return Stray(first[0], first.start(), f"nparam: {first['count'].rstrip('.,')}")
    if alike := _alike(text, [below]):
        start = alike.start("word")
        return Stray(text[start:].rstrip(), start, "nparam: NUMBER")
    return None


def _alike(text: str, below: Iterable[str]) -> re.Match[str] | None:
    """The word at the beginning of a line that ends with a number, or has one alone below it."""
    match = _ALIKE.match(text)
    if match is None or ">>>" in match[0]:
        return None
    leads = _LED_TO.search(text, match.end()) or any(_BELOW.match(line.strip()) for line in below)
    return match if leads else None


def _number(text: str, claim: re.Match[str]) -> re.Match[str] | None:
    """The number beside the word of a claim."""
    before, link = _before(text, claim), claim["link"] or ""
    if before.endswith("-") and not link.startswith(":"):
        return None  # an option of a command line
    if (">>>" in before and "=" in link) or (claim["end"] and not claim["mark"] and not link):
        return None  # code
    number = _NUMBER.match(text, claim.end())
    if number is None and text[claim.start("what") - 1].isspace() and not link:
        return _NUMBER.match(text, claim.start("what"))  # a number in brackets
    return number


def _before(text: str, claim: re.Match[str]) -> str:
    """The end of what stands before a claim: lines may be long."""
    return text[max(0, claim.start() - 80) : claim.start()]


def _as_documented(text: str, claim: re.Match[str]) -> str:
    """The line that a claim should be; "" where it has neither number nor formula."""
    what = re.sub(r"\s+(?=\[)", "", claim["what"].strip())
    if number := _number(text, claim):
        what = what if number.start() >= claim.end() else ""
        return f"nparam{what}: {number['count'].rstrip('.,')}"
    formula = _formula(text, claim)
    return formula and f"nparam{what}: {formula}"


def parse_docstring(lines: Sequence[DocLine]) -> tuple[list[Declared], list[Malformed]]:
    """Every budget of one docstring, and every budget line that cannot be read."""
    results = [result for _, result in _entries(lines)]
    declared = [result for result in results if isinstance(result, Declared)]
    return declared, [result for result in results if isinstance(result, Malformed)]


def budget_lines(lines: Sequence[DocLine]) -> frozenset[int]:
    """The indices of the lines that belong to budgets, so that none is read as prose."""
    return frozenset(index for span, _ in _entries(lines) for index in span)


def _entries(lines: Sequence[DocLine]) -> Iterator[tuple[range, Declared | Malformed | None]]:
    """Each budget with the lines that it takes; None for the head of a block."""
    lines = _folded(lines)
    index, block = 0, -1  # the indentation of the open block's head; -1: none is open
    while index < len(lines):
        line, start = lines[index], index
        index += 1
        if not line.text.strip():
            continue
        indent = _indent(lines, start)
        if indent <= block:
            block = -1
        head = _head(lines, start)
        if head and (bare := _BARE.match(line.text, head)):
            block = indent
            below = (n for n in range(index, len(lines)) if lines[n].text.strip())
            is_empty = _indent(lines, next(below, start)) <= indent
            message = f"found nothing after `nparam:`, expected a count such as {EXAMPLES}"
            fault = Malformed(message, line.line, line.column + bare.end("colon"))
            yield range(start, index), fault if is_empty else None
        elif head or block >= 0:
            result, index = _entry(lines, start, head)
            yield range(start, index), result


def _head(lines: Sequence[DocLine], index: int) -> int:
    """The offset after the word with which the budget at `index` begins; 0 where none does.

    In the documented spelling it is always one; in another spelling only if a reader would take it
    for one: beside a number, or before the colon of a formula."""
    text = lines[index].text
    if exact := _EXACT.match(text):
        return exact.end()
    if spelled := _spelled(lines, index):
        return spelled
    deeper = takewhile(
        lambda n: _indent(lines, n) > _indent(lines, index) or not lines[n].text.strip(),
        range(index + 1, min(index + 1 + _FEW_LINES, len(lines))),
    )
    alike = _alike(text, (lines[n].text for n in deeper))
    return alike.end("word") if alike else 0


def _spelled(lines: Sequence[DocLine], index: int) -> int:
    """The same of a claim in another spelling."""
    text = lines[index].text
    match = _CLAIM.search(text)
    if match is None or not _LEAD.fullmatch(text, 0, match.start()):
        return 0
    if text.count("(") > text.count(")"):  # arguments over several lines
        text = " ".join(line.text for line in lines[index : index + _MOST_LINES])
        match = _CLAIM.match(text, match.start()) or match
    if _number(text, match) or _formula(text, match) or _ALONE.match(text, match.end()):
        return match.end("word")
    if match["what"] or not _RULE.match(text, match.end()):
        return 0
    following = next((line.text for line in lines[index + 1 :] if not _RULE.match(line.text)), "")
    return match.end("word") if _NUMBER.match(following, _after_bullet(following)) else 0


def _formula(text: str, claim: re.Match[str]) -> str:
    """The formula after the colon of a claim; "" where there is none, or one that could be the type
    or the description of an argument."""
    start = claim.end()
    if not (claim["link"] or "").startswith(":") or not _OPERATOR.search(text, start, start + _FAR):
        return ""
    try:
        return _value(text, start, "total")[0].text
    except TextError:
        return ""


def _folded(lines: Sequence[DocLine]) -> Sequence[DocLine]:
    """The lines as they are read; none, where nothing is to be read in them."""
    if not any(_HINT.search(line.text) for line in lines):  # of nearly every docstring
        return ()
    return [replace(line, text=line.text.translate(_FOLDED)) for line in lines]


def _after_marks(text: str, at: int) -> int:
    return _MARKS.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too


def _after_bullet(text: str) -> int:
    return _BULLET.match(text).end()  # type: ignore[union-attr]


def _indent(lines: Sequence[DocLine], index: int) -> int:
    """The column, from 0, at which a line's text begins."""
    line = lines[index]
    # The opening quotes stand where the other lines' indentation ends.
    opening = min(line.column - 1, 3) if index == 0 else 0
    return line.column - 1 - opening + len(line.text) - len(line.text.lstrip())


def _entry(lines: Sequence[DocLine], index: int, head: int) -> tuple[Declared | Malformed, int]:
    """Read the budget at `index`; give it and the index after it. Open parentheses continue it, but
    never into a blank line or the next budget."""
    parts = [lines[index]]  # read as one line, with a space between them
    while True:
        text = " ".join(part.text for part in parts)
        following = index + len(parts)
        try:
            (arguments, host), selector, at = _prefix(text, head) if head else _entry_prefix(text)
            value, at = _value(text, at, selector.metric)
            place = place_in(parts, at)
            return Declared(arguments, selector, value, *place, host), following
        except TextError as error:
            fault = error
        is_open = isinstance(fault, Unclosed) and text[fault.offset] == "("
        if is_open and following < len(lines) and len(parts) < _MOST_LINES:
            body = lines[following].text.lstrip()
            if body and not _head(lines, following):
                column = lines[following].column + len(lines[following].text) - len(body)
                parts.append(DocLine(body, lines[following].line, column))
                continue
        return Malformed(fault.message, *place_in(parts, fault.offset)), index + 1


def place_in(parts: Sequence[DocLine], offset: int) -> tuple[int, int]:
    """The line and column of what stands at `offset` in the line that the parts are read as."""
    *before, last = parts
    for part in before:
        if offset <= len(part.text):
            return part.line, part.column + offset
        offset -= len(part.text) + 1
    return last.line, last.column + offset


def _value(text: str, at: int, metric: str) -> tuple[Value, int]:
    """The value at `at`, and where it begins. A `# comment` may follow it. Quotes, stars, a bracket
    that was opened before, and a full stop around it, or around the whole line, are ignored. Raises
    TextError."""
    body = without_comment(text[at:])
    try:
        with shifted(at):
            value = parse_value(body, metric)
        return value, text.index(value.text, at)
    except TextError as error:
        fault = error
    start = _after_marks(text, at)
    body = body[start - at :].rstrip()
    closing = {".", ",", ";", *(_CLOSED_BY.get(c, "") for c in _BULLET.sub("", text[:start], 1))}
    for _ in range(_MOST_MARKS):
        with suppress(TextError):
            return parse_value(body, metric), start
        if body[-1:] not in closing:
            break
        body = body[:-1].rstrip()
    raise fault


def _prefix(text: str, at: int) -> tuple[_How, Selector, int]:
    """`(ARGUMENTS)` or `(in TARGET)`, `[SELECTOR]` and `:`; gives the offset after the colon."""
    arguments, host, at = read_call(text, _after_marks(text, at))
    selector, at = read_selector(text, _after_marks(text, at))
    if arguments is None and host is None:  # it may stand after the selector as well
        host, at = read_host(text, at)
    colon = _COLON.match(text, _after_marks(text, at))
    if colon is None:
        end = f"`{text[at:].strip()}`" if text[at:].strip() else "the end of the line"
        claim, dotted = _CLAIM.search(text), _DOTTED.match(text, at)
        line = _as_documented(text, claim) if claim else ""
        line = f"nparam[{dotted['module']}]: {dotted['count']}" if dotted else line
        hint = f", as in `{line}`" if line else ""
        raise TextError(f"found {end}, expected `:` and a count{hint}", at)
    return (arguments, host), selector, colon.end()


def _entry_prefix(text: str) -> tuple[_How, Selector, int]:
    """What may stand before the value on a line of a block: as `_prefix`, `SELECTOR:` or nothing.
    Parentheses are arguments only where a colon follows them; they may begin a formula."""
    at = _after_bullet(text)
    if text.startswith("[", at) or (
        text.startswith("(", at) and _ENTRY_ARGUMENTS.match(text, closing_bracket(text, at) + 1)
    ):
        return _prefix(text, at)
    selector = _ENTRY_SELECTOR.match(text, at)
    if selector is None or not selector[1].strip():
        return (None, None), Selector(), at
    with shifted(at):
        return (None, None), parse_selector(selector[1]), selector.end()
