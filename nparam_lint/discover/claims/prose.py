"""Parameter counts that a docstring claims in plain words: "~2K param autoencoder", "Params: 27M".

Precision before recall: a claim is used only if it can be meant as the count of the class or
function to which the docstring belongs. Counts of parts, of other models and of families of models,
ratios and conditions are ignored, and so are claims that contradict each other.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.discover.claims.count_words import (
    ABOUT,
    LIMITS,
    NOUN,
    NOUN_ABROAD,
    QUALIFIER,
    UNIT_ABROAD,
    UNIT_WORD,
    WITHOUT_EMBEDDINGS,
    selector_of,
    written_value,
)
from nparam_lint.discover.claims.docstring_budgets import budget_lines, place_in
from nparam_lint.discover.claims.stated import StatedCount
from nparam_lint.ground.notation import Selector, TextError
from nparam_lint.ground.notation.grammar import parse_value
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nparam_lint.ground.notation.grammar import Value
    from nparam_lint.ground.values import DocLine

_SMALLEST_PLAIN = 100  # "takes 3 parameters" is about a function
_SMALLEST_ABROAD = 100_000  # without a unit
_LONGEST = 2000  # characters; what is longer is not a sentence

_NUMBER = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]{3})+|[0-9]+(?:\.[0-9]+)?(?:e\+?[0-9]{1,2}\b)?)"
    r"(?![0-9_]|[.,][0-9])"
)
_SUFFIX = r"(?:\s*(?:[kmbgt]|[mb]n)(?![a-z0-9_])|[\s-]*" + UNIT_WORD + r"\b)"
_COUNT = rf"""
    (?:(?P<limit><=?|≤|\b{LIMITS})\s*)?
    (?:(?P<about>[~≈∼≃]|\b{ABOUT})\s*)?
    (?<![\w.,/+–—−^-])(?P<low>{_NUMBER})(?P<low_suffix>{_SUFFIX})?
    (?:\s*(?:[-–—]|\bto\b)\s*(?P<high>{_NUMBER})(?P<high_suffix>{_SUFFIX})?)?
    (?:-a[0-9.]+[kmbt]\b)?(?:\s*\([0-9.]+\s*[kmbgt]\))?
"""
_FLAGS = re.IGNORECASE | re.VERBOSE
_NUMBER_FIRST = late_pattern(
    rf"""
    {_COUNT}(?:(?:[\s-]|&nbsp;)*(?P<what>(?:{QUALIFIER}[\s-]+){{0,2}})\#?{NOUN}(?![\w=-])
    (?:\s+(?:in\s+)?total\b)?(?P<what_after>\s*[(,]?\s*{WITHOUT_EMBEDDINGS}\)?)?
    |\s+(?P<what_alone>non[-_\s]?embedding)\b)""",
    _FLAGS,
)
_MARK = "[*_`]{0,3}"  # **Parameters**: 62K
_NOUN_FIRST = late_pattern(
    rf"""
    (?:^|[\n,;(\[]|:\s|[-*•]\s|['’]s\s)\s*
    (?P<phrase>{_MARK}(?:the\s+)?(?:model\s+|(?P<total>total\s+))?(?P<hash>\#\s*(?:of\s+)?)?
    (?:(?:number|count|no\.)\s+of\s+)?(?P<what>(?:{QUALIFIER}\s+){{0,2}}){NOUN}(?:\s+count)?
    (?:\s+(?:of|in)\s+(?:the\s+)?[\w./`-]+(?=\s+(?:is|are)\s))?(?:\s?\((?P<unit>[kmb])\))?{_MARK}
    (?:[^\S\n]*[:=]{_MARK}[^\S\n]*|\s+(?:is|are)\s+(?:only\s+|just\s+)?|(?(hash)\s+|(?(total)\s+|(?!)))))
    {_COUNT}(?![\w%+/×*-]|[.,][0-9])""",
    _FLAGS,
)
_END = late_pattern(r"\s*(?:$|\n|[.,;:)\]](?!\s*[0-9]))")

_NAME_IN_LIST = r"(?<![\w.+/-])[\w.+/-]+"
_COUNT_IN_LIST = rf"(?P<low>{_NUMBER})(?P<low_suffix>{_SUFFIX})?"
_LIST = r"{0}(?:\s*,\s*{0})*\s*,?\s+(?:and|&)\s+{0}"
_LISTED = late_pattern(
    rf"""(?P<names>{_LIST.format(_NAME_IN_LIST)})\s*,?\s+(?:have|has|with|contain|use)\s+
    (?:{ABOUT}\s+)?(?P<counts>{_LIST.format(f"{_NUMBER}{_SUFFIX}?")})
    [\s-]*(?:{QUALIFIER}\s+)?{NOUN}\b""",
    _FLAGS,
)
_COUNT_ABROAD = rf"""(?P<about>[~≈约約])?\s*(?<![A-Za-z0-9_.,/+-])(?P<low>[0-9]+(?:[.,][0-9]+)*)
    (?P<low_suffix>\s*(?:{UNIT_ABROAD}|[kmb](?![a-z0-9_])))?(?!\s*[-~～–到至]\s*[0-9])"""
_ABROAD = (
    late_pattern(rf"(?P<phrase>{NOUN_ABROAD}[^\n0-9,，;；]{{0,8}}?){_COUNT_ABROAD}", _FLAGS),
    late_pattern(rf"{_COUNT_ABROAD}\s*(?:de\s+|个\s*|個の)?{NOUN_ABROAD}", _FLAGS),
)
# Of a comparison with another model.
_ELSEWHERE_ABROAD = late_pattern(
    r"""[比减減降增倍每层層]|低于|少于|超过|不到|より|보다|배|\b(?:раза?|меньше
    |больше|чем|menos|más\s+que|moins|plus\s+(?:de|que)|weniger|mehr|als)\b""",
    _FLAGS,
)
_MENTION = late_pattern(rf"param|non.?embedding|{NOUN_ABROAD}", re.IGNORECASE)
_DIGIT = late_pattern("[0-9]")
_SENTENCE_END = late_pattern(
    r"(?<!\bvs)(?<!\bapprox)(?<!\bno)(?<!\bcf)(?<!\bal)(?<!e\.g)(?<!i\.e)[.!?;](?=\s)"
    r"|[。！？]|\n(?=[^\S\n]*(?:\n|(?:[-*•]|[0-9]+[.)])\s|-{0,2}\w+\s*:))|:[^\S\n]*(?=\n)",
    re.IGNORECASE,
)
# About other models, families or parts; or code, or a table.
_ELSEWHERE = late_pattern(
    r"""
    \b(?:than|vs|versus|compar\w*|unlike|instead|whereas|relative\s+to|original\w*|baselines?
    |similar|same|outperform\w*|rang(?:e|es|ing)|variants?|famil(?:y|ies)|respectively|up\s+to|each
    |every|per(?!\s+(?:token|second|sec|frame|image)\b)|paper|reported|reports|published
    |(?<!\0[ ])configurations?(?!\s+for\b)|reduc\w+|sav(?:es?|ing)|budget|limit|target)\b|>>>|\|""",
    _FLAGS,
)
# In the clause of the number: what was, would be, or is not; and several, or another of it.
_UNREAL = late_pattern(
    r"""
    \b(?:not|never|neither|nor|no\s+longer|could|would|should|might|may|must|suppose|imagine|assum\w+
    |expected|goal|had|was|were|previous\w*|formerly|used\s+to|before|until|old|once|almost|if|does|did
    |do|replac\w+|used\s+as|student\s+of|(?:two|three|both)(?!-)|these|those|pruned|distill\w*|quanti[sz]\w*
    |slim(?:m\w+)?|\w+s\s+have|no\s*$)\b|n['’]t\b""",
    _FLAGS,
)
_UNREAL_AFTER = late_pattern(
    r"""
    \b(?:not|needed|was|were|does|together|once)\b|n['’]t\b|\?
    |param(?:eter)?s?\s+(?:updates?|settings?|ensembles?|teachers?|tweaks?|changes?|groups?)\b""",
    _FLAGS,
)
_CONDITION = late_pattern(r"^\W*(?:at|with|for|even)\s[^,]*$", re.IGNORECASE)
_PLAIN_LEAD = late_pattern(
    rf"(?:\W*(?:[A-Za-z][\w.-]*\s+){{1,4}}|[^.;]*,\s*which\s+)(?:has|contains|uses)\s+"
    rf"(?:(?:only|just|{ABOUT})\s+)*$",
    re.IGNORECASE,
)
_BESIDE = late_pattern(r"\s*[,;(]|\s+(?:and|to|so|while|but)\s")
_MODAL = late_pattern(r"^[^.,;:]*,[^,;:]*\b(?:would|could|might|may|should)\b", re.IGNORECASE)
_CLAUSE_END = late_pattern(r"[,;:]\s|\.\s|\s[–—-]\s|\n")
_PART = late_pattern(
    r"""
    \b(?:encoder|decoder|head|backbone|stem|block|layer|branch|embedding|classifier|projector
    |neck|teacher|student|adapter|lora|stage|discriminator|generator|critic)s?\b
    (?:[^,;]{0,30}?(?:\b(?:has|have|contains?|adds?|uses?|is|are|holds?)\b|:|=)|\s*\(\s*[~≈]?\s*$)""",
    _FLAGS,
)
_BEFORE = late_pattern(
    r"""
    (?:\b(?:to|from|between|over|above|exceed\w*|least|by
    |(?<!config[ ])(?<!configuration[ ])(?<!settings[ ])(?<!preset[ ])for|or|until
    |adds?|adding|extra|plus
    |additional|another|beyond|given|starting\s+at|remov\w+|takes?|accepts?|expects?|requires?
    |first|last|top|x)
    |[+/×&→>\#%^]|\S[^\S\n]*\*|[0-9]\s?[kmbgt]\s*(?:,|and|&)
    |(?:\b(?:half|most|third|all|out|fraction|some|rest)|%)\s+of(?:\s+the)?)\s*$""",
    _FLAGS,
)
_LABEL = late_pattern(r"([\w.-]*)\W*[:=]\s*$")
_NAME = late_pattern(  # of a model
    r"[A-Za-z]\w*[0-9_]|[a-z][A-Z]|[A-Z]{2}"
    r"|^(?i:nano|tiny|mini|micro|small|base|medium|large|huge|giant)$"
)
_WHOLE_LABELS = {"size", "total", "model", "capacity", "overall", "complexity", "count", "network"}
_AFTER = late_pattern(
    r"""
    \s*(?:[/×+%(]\s*(?:per\b|layer|block|channel|each)|[/×+%])
    |\s+(?:in|of(?!\s+which)|for|from|at|to|by(?!\s+default)|than|on|when|if|each|more
    |with\s+\w+\s*=)\b(?!\s+(?:the\s+)?(?:(?:full|whole|entire)\s+)?(?:model|network)\b)
    |\s+(?:(?:that|which)\s+)?(?:is|are|stays?|remains?|kept)\s+frozen\b
    |\s*[(,]?\s*(?:without|w/o|excl\w*|except|not\s+counting)\b
    |[\s-]+(?:models|regime|groups?|servers?|tensors?|sharing|(?:style|like|scale|class)\b)""",
    _FLAGS,
)


def split_claims(lines: Sequence[DocLine]) -> tuple[list[StatedCount], list[StatedCount]]:
    """The claims of one docstring about what it documents, and those about what they name
    themselves, "resnet18: 11.7M parameters"; both in order. Its budgets are no prose."""
    budgets = budget_lines(lines)
    parts = [replace(line, text="") if n in budgets else line for n, line in enumerate(lines)]
    own: list[StatedCount] = []
    of_named: list[StatedCount] = []
    for claim in claims_in(parts):
        (of_named if _is_of_named(claim.sentence[0]) else own).append(claim)
    return _consistent(own), of_named


def _is_of_named(before: str) -> bool:
    label = _LABEL.search(before)
    return label is not None and "param" not in label[1].lower() and bool(_NAME.search(label[1]))


def claims_in(lines: Sequence[DocLine]) -> Iterator[StatedCount]:
    """The claims of some lines that belong together."""
    for start, sentence in _sentences(lines):
        for offset, phrase, selector, value in _phrases(sentence):
            place, halves = place_in(lines, start + offset), (sentence[:offset], sentence[offset:])
            yield StatedCount(phrase, (value,), selector, *place, sentence=halves)


def listed_claims(lines: Sequence[DocLine]) -> Iterator[StatedCount]:
    """Those of sentences that list as many models as counts: "resnet18 and resnet34 have 11.7M and
    21.8M parameters"."""
    if not any(" and " in line.text for line in lines):
        return
    for start, sentence in _sentences(lines):
        is_list = " and " in sentence and _MENTION.search(sentence) and len(sentence) <= _LONGEST
        for match in _LISTED.finditer(sentence) if is_list else ():
            names = [n for n in re.findall(_NAME_IN_LIST, match["names"]) if n.lower() != "and"]
            counts = [*re.finditer(_COUNT_IN_LIST, match["counts"], _FLAGS)]
            if len(names) < len(counts):
                continue
            for name, count in zip(names[-len(counts) :], counts, strict=True):
                if value := _value(count.groupdict()):
                    place = place_in(lines, start + match.start("counts") + count.start())
                    phrase = f"{count[0]} parameters"
                    halves = f"{name} has ", phrase
                    yield StatedCount(phrase, (value,), Selector(), *place, sentence=halves)


def _sentences(lines: Sequence[DocLine]) -> Iterator[tuple[int, str]]:
    """Each with its offset in the text of the lines."""
    text = "\n".join(line.text for line in lines)
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    for start, end in pairwise(ends):
        yield start, text[start:end]


def _phrases(sentence: str) -> Iterator[tuple[int, str, Selector, Value]]:
    """Each claim of a sentence, with the offset of its count."""
    if len(sentence) > _LONGEST or not (_MENTION.search(sentence) and _DIGIT.search(sentence)):
        return
    offsets: set[int] = set()
    for pattern in (_NOUN_FIRST, _NUMBER_FIRST):
        for match in pattern.finditer(sentence):
            groups = match.groupdict()
            value = _value(groups)
            if value is None or match.start("low") in offsets or not _is_of_class(sentence, match):
                continue
            offsets.add(match.start("low"))
            words = (groups.get(name) for name in ("what", "what_alone", "what_after"))
            selector = selector_of(" ".join(filter(None, words)))
            start = match.start("phrase") if "phrase" in groups else match.start()
            phrase = " ".join(sentence[start : match.end()].split())
            count = min(match.start(g) for g in ("limit", "about", "low") if groups[g])
            yield count, phrase, selector, value
    is_abroad = not sentence.isascii() and re.search(NOUN_ABROAD, sentence, _FLAGS)
    if not is_abroad or _ELSEWHERE_ABROAD.search(sentence):
        return
    for pattern in _ABROAD:
        for match in pattern.finditer(sentence):
            groups = match.groupdict()
            value = _value(groups)
            if value is None or match.start("low") in offsets:
                continue
            # The word is that for settings, too.
            if groups["low_suffix"] or (value.bounds().high or 0) >= _SMALLEST_ABROAD:
                offsets.add(match.start("low"))
                phrase = " ".join(match[0].split())
                yield match.start("low"), phrase, Selector(), value


def _is_of_class(sentence: str, match: re.Match[str]) -> bool:
    """Whether the count is meant as the count of the documented class."""
    before, after = sentence[: match.start()], sentence[match.end() :]
    if _PLAIN_LEAD.match(before):  # what follows is said beside: "…, 3x fewer than UNet"
        after = _BESIDE.split(after)[0]
    if _ELSEWHERE.search(f"{before}\0{after}") or _PART.search(before):
        return False
    if _AFTER.match(after):
        return False
    clause_before = _CLAUSE_END.split(before)[-1]
    clause_after = _CLAUSE_END.split(sentence[match.start("low") :])[0]
    # "With 200M parameters, it would be too slow."
    is_condition = _CONDITION.search(clause_before) and _MODAL.search(after)
    if is_condition or _UNREAL.search(clause_before) or _UNREAL_AFTER.search(clause_after):
        return False
    if "phrase" in match.groupdict():
        suffix = match["high_suffix"] if match["high"] else match["low_suffix"]
        return bool(suffix) or _END.match(after) is not None
    tail = before[-80:]
    label = _LABEL.search(tail)
    if label and not (label[1].lower() in _WHOLE_LABELS or _NAME.search(label[1])):
        return False
    comment = "#" in before[before.rfind("\n") + 1 :]
    return not comment and _BEFORE.search(tail) is None


def _value(groups: dict[str, str | None]) -> Value | None:
    """The claimed count in the notation of budgets; None where it is none."""
    suffix = groups["high_suffix"] if groups.get("high") else groups["low_suffix"]
    suffix = suffix or groups.get("unit")
    low = written_value(groups["low"] or "", groups["low_suffix"] or suffix)
    limit, sign = groups.get("limit"), "~" if groups.get("about") else ""
    if limit:
        sign = "<=" if limit.lower().endswith(("=", "≤", "most", "more than")) else "<"
    try:
        if high := groups.get("high"):
            if limit:
                return None
            first, last = parse_value(low), parse_value(written_value(high, suffix))
            lowest, highest = first.bounds().low or 0, last.bounds().high or 0
            if lowest < _SMALLEST_PLAIN or highest > 3 * lowest:
                return None  # the sizes of a family
            return parse_value(f"{lowest}..{highest}")
        value = parse_value(sign + low)
    except TextError:
        return None
    declared = value.bounds().declared or 0
    return value if suffix or declared >= _SMALLEST_PLAIN else None


def _consistent(claims: list[StatedCount]) -> list[StatedCount]:
    """The claims without those that contradict each other; a claim that calls itself a total
    outweighs the rest."""
    consistent: set[int] = set()
    for selector in {claim.selector for claim in claims}:
        group = [i for i, claim in enumerate(claims) if claim.selector == selector]
        totals = [i for i in group if "total" in claims[i].text.lower()]
        for candidates in (group, totals):
            bounds = [claims[i].value.bounds() for i in candidates]
            lowest = max((b.low or 0 for b in bounds), default=0)
            if all(b.high is None or b.high >= lowest for b in bounds):
                consistent.update(candidates)
                break
    return [claim for i, claim in enumerate(claims) if i in consistent]
