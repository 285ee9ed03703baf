"""The catalogue of all rules: the files of `gate/rules/`; each is imported when it is needed. And
their pages: for a terminal, and in Markdown, which an editor shows and docs/rules.md is made of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import import_module
from textwrap import fill, indent
from typing import TYPE_CHECKING

from msgspec import Struct, field

from nparam_lint.ground import PACKAGE
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.nearest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from nparam_lint.ground.values import Severity

_STRIPPED = "Its text is not available: Python runs with -OO, which removes docstrings."


class UnknownRule(UsageError):
    """No rule has this code or name; the message suggests the closest one."""


class Rule(Struct, frozen=True):
    """One rule. The name of its file, `npl101_plain_container.py`, gives its code and name, the
    file's docstring its summary (the first line) and its explanation (the rest). The other fields
    are constants of the file, in capitals.

    `example_bad` is what is reported, `example_good` what is not. `enabled`: reported unless it is
    ignored; a rule that is off must be selected. A rule that needs source alone has a code from
    NPL100 on, a function `check` of a class or `check_file`, and cases: files with no finding
    (`valid`), and files with the findings expected of them (`invalid`), each a line "line:column
    message".
    """

    code: str
    name: str
    summary: str
    explanation: str
    example_bad: str
    example_good: str
    remedy: str
    severity: Severity = "error"
    enabled: bool = True
    valid: tuple[str, ...] = ()
    invalid: Mapping[str, str] = field(default_factory=dict)
    check: Callable[..., Iterable[Any]] | None = None
    check_file: Callable[..., Iterable[Any]] | None = None


class _Catalogue(Mapping[str, Rule]):
    """Code → rule, in the order of the codes. The codes and names alone import nothing."""

    @cached_property
    def _modules(self) -> dict[str, str]:
        # Not with pathlib, which takes longer to import than all else here.
        files = sorted(os.listdir(os.path.join(PACKAGE, "gate", "rules")))
        modules = (file[: -len(".py")] for file in files if file.endswith(".py"))
        return {_code_and_name(name)[0]: name for name in modules if name.startswith("npl")}

    @property
    def names(self) -> dict[str, str]:
        """Name → code."""
        return {_code_and_name(module)[1]: code for code, module in self._modules.items()}

    def __getitem__(self, code: str) -> Rule:
        return _read(self._modules[code])

    def __contains__(self, code: object) -> bool:
        return code in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def _code_and_name(module: str) -> tuple[str, str]:
    """`npl101_plain_container` → ("NPL101", "plain-container")."""
    code, _, words = module.partition("_")
    return code.upper(), words.replace("_", "-")


@cache
def _read(name: str) -> Rule:
    module = import_module(f"nparam_lint.gate.rules.{name}")
    summary, _, explanation = (module.__doc__ or _STRIPPED).partition("\n")
    names = vars(module)
    values = {f: names[f.upper()] for f in Rule.__struct_fields__ if f.upper() in names}
    title = _code_and_name(name)
    values |= {name: names.get(name) for name in ("check", "check_file")}
    return Rule(*title, summary, explanation.strip(), **values)


RULES = _Catalogue()


def find(code: str) -> Rule:
    """The rule of that code or name. Raises UnknownRule."""
    text, names, codes = code.strip(), RULES.names, [*RULES]
    rule_code = text.upper() if text.upper() in RULES else names.get(text.lower())
    if rule_code is not None:
        return RULES[rule_code]
    hint = did_you_mean(text, [*codes, *names], f"there are {codes[0]} to {codes[-1]}")
    raise UnknownRule(f"no rule {text!r}{hint}")


def explain(code: str, width: int = 80) -> str:
    """The page of one rule for a terminal. Raises UnknownRule."""
    rule = find(code)
    head = f"{rule.code}  {rule.name}  ({state(rule)})\n\n{rule.summary}"
    return _page(rule, head, fill(f"What to do: {rule.remedy}", width, break_on_hyphens=False))


def rule_page(code: str) -> str:
    """All that is to be said about one rule, as a page of Markdown."""
    rule = RULES[code]
    head = f"# {rule.code} {rule.name}\n\n{rule.summary} ({state(rule).capitalize()}.)"
    return _page(rule, head, f"**What to do:** {rule.remedy}")


def _page(rule: Rule, head: str, remedy: str) -> str:
    """With its explanation and examples between the two."""
    bad, good = indent(rule.example_bad, "    "), indent(rule.example_good, "    ")
    paragraphs = (head, rule.explanation, "Reported:", bad, "Better:", good, f"{remedy}\n")
    return "\n\n".join(paragraphs)


def state(rule: Rule) -> str:
    """Its severity, and whether it is off by default."""
    return rule.severity if rule.enabled else f"{rule.severity}, off by default"
