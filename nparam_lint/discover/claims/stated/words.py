"""The words that call a number a count: heads of columns, keys, units."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from nparam_lint.discover.claims.count_words import (
    NOUN,
    NOUN_ABROAD,
    QUALIFIER,
    UNIT_ABROAD,
    UNIT_WORD,
    WITHOUT_EMBEDDINGS,
    plain_number,
    suffix_of,
    written_value,
)
from nparam_lint.ground.notation import TextError
from nparam_lint.ground.notation.grammar import Value, parse_value
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

_STAGE = r"(?:train(?:ing)?|deploy(?:ed|ment)?|inference|fused)(?:\s+time)?"
_HEAD = late_pattern(
    rf"""(?:(?:number|num\.?|no\.?|nb\.?|\#|n)[\s_]*(?:of[\s_]+)?)?(?:{QUALIFIER}[\s_]+){{0,2}}
    (?:model[\s_]+|模型)?\#?\s*(?:{NOUN}|para(?=\.?\s?\()|(?<=\#)\s?p(?:ara?)?|{NOUN_ABROAD})\.?\s?\#?(?:[\s_]*(?:count|num(?:ber)?\.?|size))?
    (?:\s+(?:at|for|during)\s+{_STAGE}|[\s,]*[(\[]?\s*{WITHOUT_EMBEDDINGS}\s*[)\]]?)?
    (?:[\s,_]*(?:in[\s_]+)?[(\[/（]?\s*(?:in[\s_]+)?(?P<unit>[kmgbt]|mi?b|megabytes?|{UNIT_WORD}s?|mil|mn|bn|{UNIT_ABROAD}|1e[36]|(?:×\s?)?10(?:\^?[36]|[³⁶]))\s*[)\]）]?)?
    (?:\s*[,(\[（]\s*(?:total|trainable|approx(?:\.|imate(?:ly)?)?|rounded|{_STAGE})\s*[)\]]?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_SCALED = late_pattern(rf"(?P<unit>[kmb])[-_.]?\s?{NOUN}\.?", re.IGNORECASE)  # MPARAMS
_MARKS = " *_`$\\:↓↑⬇⬆\ufe0f"  # around a head
_SIZE_OF = late_pattern(r"^(?:model\s+)?size\s*[(\[](.*)[)\]]$", re.IGNORECASE)
_KEY = late_pattern(
    rf"""(?:(?:n|num|nb|no|number_of|count_of|{QUALIFIER})_)*
    (?P<word>{NOUN}(?:_?count|_?num(?:ber)?|_?size)?)
    (?:_(?:in_)?(?P<unit>[kmb]|{UNIT_WORD}s?))?""",
    re.IGNORECASE | re.VERBOSE,
)
# Keys whose value is what the model is called, the surest first; and of what it is not: the model
# that it comes from, or is compared with; parts of a run that have parameters of their own.
_NAMING = ("model", "model_name", "arch", "architecture", "name", "type", "id")
_OF_ANOTHER = late_pattern(
    r"""teacher\w*|init\w*_from|from_\w+|\w+_from|base|base_?model|baseline\w*|distill\w*|pretrained\w*
    |parent|reference|compare\w*|finetuned?_?\w*|source""",
    re.IGNORECASE | re.VERBOSE,
)
_OF_RUN = late_pattern(r"optim\w*|hpo|search|sched\w*|loss|data\w*|augment\w*", re.IGNORECASE)
_BARE_KEYS = {"param", "params", "parameter", "parameters"}
_CELL = late_pattern(
    rf"""[~≈∼<≤]?\s*(?P<number>[0-9]{{1,3}}(?:[,_'\s][0-9]{{3}})+|[0-9]{{1,3}}(?:\.[0-9]{{3}}){{2,}}
    |[0-9]+,[0-9]{{1,2}}|[0-9]+(?:\.[0-9]+)?(?:[eE]\+?[0-9]+)?)
    \s*(?P<suffix>[kmgbtKMGBT]|[mMbB]n|{UNIT_WORD}|mil\.?|{UNIT_ABROAD})?
    (?:-?A[0-9.]+[kmbgtKMBGT])?(?:\s*{NOUN}\.?)?(?:\s*\(total\))?""",
    re.VERBOSE,
)
# Behind a number: the same one rounded, or how much it differs from another.
_BEHIND = late_pattern(
    r"""\s*(?:<su[bp]>\s*)?\(\s*(?:[~≈]?\s*[0-9.,]+\s*(?:[kmb]|million|billion)?|[-+−–↓↑]*\s*[0-9.]+\s*%\s*[↓↑]?)\s*\)
    (?:\s*</su[bp]>)?$""",
    re.IGNORECASE | re.VERBOSE,
)
_PICTURES = late_pattern("[\\s\u2600-\u27bf\U0001f300-\U0001faff\ufe0f]+$")
_MEGABYTES = late_pattern(r"(?<![a-z])(?:mi?b|megabytes?)(?![a-z])", re.IGNORECASE)
_LEAST = 1000  # a whole number that is smaller is no exact count, but thousands or millions
_SHORT = 4  # digits of a number that a key such as `params` may have as an option


def without_remark(text: str) -> str:
    """A number without what stands behind it in brackets, `18,536,832 (~18.5M)`, `9.2 (-33%)`, and
    without a medal."""
    return _BEHIND.sub("", _PICTURES.sub("", html.unescape(text)))


def says_bytes(head: str) -> bool:
    """Whether a head of counts calls them megabytes."""
    return _MEGABYTES.search(head) is not None


def head_unit(text: str) -> str | None:
    """The unit that a head of counts names, "" where it names none; None for another head. A key is
    one, too."""
    name = _SIZE_OF.sub(r"\1", text.strip(_MARKS).strip())
    if head := _HEAD.fullmatch(name) or _SCALED.fullmatch(name):
        return suffix_of(head["unit"])
    key = key_unit(name)
    return key and key[0]


def key_unit(key: str) -> tuple[str, bool] | None:
    """The unit that a key of counts names, and whether the key says that it is a count
    (`num_params`, not `params`, which may be anything); None for another key."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).replace("-", "_").replace(" ", "_").strip("#_")
    match = _KEY.fullmatch(name)
    return None if match is None else (suffix_of(match["unit"]), name.lower() not in _BARE_KEYS)


def is_of_another(key: str) -> bool:
    """Whether the value of a key, or the name in a column, is another model's."""
    return _OF_ANOTHER.fullmatch(key.strip(" *_`").replace("-", "_")) is not None


def is_of_run(key: str) -> bool:
    """Whether what stands below a key is no model, but has parameters, too: an optimizer."""
    return _OF_RUN.fullmatch(key.strip()) is not None


def called_by(values: Mapping[str, str]) -> str:
    """What a model is called by the values of the keys beside its count; "" if none says it."""
    by_key = {key.lower().replace("-", "_"): value for key, value in values.items()}
    return next((by_key[key] for key in _NAMING if by_key.get(key)), "")


def readings_at(key: str, text: str) -> tuple[Value, ...]:
    """What a text may mean that stands at a key; none where the key is not one of counts."""
    named, digits = key_unit(key), plain_number(text)
    if named is None:
        return ()
    unit, says_count = named
    is_large = not digits.isdecimal() or len(digits) > _SHORT
    is_meant = is_large or (says_count and (unit or len(text) > 1))
    return readings_of(text, unit) if is_meant else ()


def readings_of(text: str, unit: str = "") -> tuple[Value, ...]:
    """What a number alone may mean: `27.5M`; `27.5` below a head that names millions, or no unit;
    none where the text is more than a number."""
    match = _CELL.fullmatch(text.strip())
    if match is None:
        return ()
    number = plain_number(match["number"])
    suffix = suffix_of(match["suffix"]) or unit
    is_whole = re.fullmatch("[0-9]+", number) is not None
    if suffix:
        suffixes: tuple[str, ...] = (suffix,)
    elif is_whole:
        suffixes = ("",) if int(number) >= _LEAST else ("M", "k", "B", "")
    else:
        suffixes = ("M", "k", "B")
    if suffix and not match["suffix"] and is_whole and int(number) >= 100_000:
        suffixes = ("",)  # a count in full below "Params (M)"
    try:
        return tuple(parse_value(written_value(number, s)) for s in suffixes)
    except TextError:
        return ()
