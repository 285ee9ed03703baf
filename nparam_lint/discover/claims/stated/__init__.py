"""Counts that people state about models in what is no docstring of theirs: tables, sentences, keys,
comments, model cards, results and checkpoints.

Each source is a file here that reads one kind of text. All give the same record, and none knows the
models: whom a count is about is found out where these are known (`gate/count_verdicts.py`). To read
a text executes nothing.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from nparam_lint.ground.notation import Selector
from nparam_lint.ground.paths import CONFIG_SUFFIXES, DOC_SUFFIXES
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nparam_lint.ground.notation.grammar import Bounds, Tolerance, Value

_ABROAD = late_pattern("参数|參數|パラメータ|파라미터|매개변수|[Пп]араметр|ar(?:á|è)met".encode())
_VOCABULARY = late_pattern(
    r"(?:^|/)(?:tokenizer|vocab|merges|added_tokens)\.json$"
)  # numbers of words
LARGEST = 5_000_000  # bytes of a text: what is longer are data
_AROUND = 80  # bytes before and after the word
_COUNT = (
    rb"[0-9](?:[0-9.,_]*[0-9])?(?:[\s-]?(?:[kKmMbBtT]n?\b|thousand|[mMbB]illion)"
    rb"|(?<=[0-9]{3}))"
)
_NEAR = late_pattern(  # in Python, where nearly every file names parameters
    _COUNT
    + rb"""[\s-]+(?:[a-z]+[\s-]+){0,2}\#?[Pp]aram
    |[Pp]aram\w*["']\s*:\s*[0-9]+\.[0-9]
    |\|[ \t]*\#?[Pp]aram[\w \t()]{0,15}[|\n]
    |(?i:\b(?:n|nb|num|no|total|number_of)_param\w*|param\w*(?:count\w*|_[kmb]))\s*(?::[^=\n]+)?
    =\s*\{\s*["']
    |(?<!n)(?:[Pp]aram|PARAM)\w*["'`*]{0,3}\s*(?:\([^()\n]{0,20}\)\s*)?(?:[:=]|\bis\b|\bare\b)[^\n0-9]{0,20}"""
    + _COUNT,
    re.VERBOSE,
)


class StatedCount(Struct, frozen=True):
    """A number that its words, the head of its column or its key call a count.

    `text`: as it stands there. `readings`: what it may mean, the likeliest first: `7.0` in a column
    without a unit may be thousands or millions. `line`, `column`: of its first character. `names`:
    what may name the model, nearest first; `is_name`: each of these is a name (the first cell of a
    row, a key), else a text in which one may stand. `sentence`: the words before the number and
    from it on, in what is written as text. `shares_name`: the first of them stands in several rows
    of the table, with other counts; `of_larger`: they may name parts of what is counted, in a table
    of backbones or of detectors. `above`: the headings; a name may be what one of them and the
    row say together. `called`: what a key beside the number, such as `model`, says that it is
    called. `in_file`: whether a file that builds one model (a config, a checkpoint) says
    it of that. `definition`: the class or factory in whose docstring it stands. `heads`: those of
    the columns of its table. `head_at`: the line and column of the head of its column. `in_bytes`:
    that calls it megabytes. `weights`: the names of the tensors counted."""

    text: str
    readings: tuple[Value, ...]
    selector: Selector
    line: int
    column: int
    names: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    is_name: bool = False
    called: str = ""
    sentence: tuple[str, str] = ("", "")
    shares_name: bool = False
    of_larger: bool = False
    in_file: bool = False
    definition: str = ""
    heads: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    head_at: tuple[int, int] | None = None
    in_bytes: bool = False
    weights: tuple[str, ...] = ()

    @property
    def value(self) -> Value:
        return self.readings[0]

    def bounds(self, tolerance: Tolerance | None = None) -> list[Bounds]:
        """The counts that each reading admits."""
        return [value.bounds(tolerance=tolerance) for value in self.readings]


class Source(NamedTuple):
    """`module`: the file here whose `stated_counts(path, text)` reads texts of these names."""

    suffixes: tuple[str, ...]
    module: str


# The first that a file's name ends with reads it.
SOURCES = (
    Source((".safetensors.index.json", ".bin.index.json", ".safetensors"), "checkpoints"),
    Source(DOC_SUFFIXES, "documents"),
    Source((".html", ".htm"), "documents"),
    Source((".ipynb",), "notebooks"),
    Source((".py",), "python_source"),
    Source(CONFIG_SUFFIXES, "config_keys"),
    Source((".tex",), "latex"),
    Source((".csv", ".tsv"), "result_tables"),
)
SUFFIXES = tuple(suffix for source in SOURCES for suffix in source.suffixes)


def stated_counts(path: str, content: bytes) -> Iterable[StatedCount]:
    """The counts that a file states. A file without a word of parameters is not parsed."""
    name = path.lower()
    source = next((s for s in SOURCES if name.endswith(s.suffixes)), None)
    is_binary = name.endswith(".safetensors")
    if source is None or (len(content) > LARGEST and not is_binary) or _VOCABULARY.search(name):
        return ()
    words = b"aram", b"ARAM", b"#P", b"# P", b"Para."
    has_word = any(word in content for word in words) or _ABROAD.search(content)
    if not is_binary and not (_has_count(content) if name.endswith(".py") else has_word):
        return ()
    reader = import_module(f"{__name__}.{source.module}")
    text = content if is_binary else content.decode("utf-8", "replace")
    counts: Iterable[StatedCount] = reader.stated_counts(path, text)
    return counts


def _has_count(content: bytes) -> bool:
    """Whether a number that may be a count stands near the word. It is looked for around the word,
    as a search that begins at every digit takes twenty times as long."""
    for word in (b"aram", b"ARAM"):
        at = content.find(word)
        while at >= 0:
            if _NEAR.search(content, max(at - _AROUND, 0), at + _AROUND):
                return True
            at = content.find(word, at + 1)
    return False
