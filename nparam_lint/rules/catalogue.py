"""The catalogue of rules: made from the files of this folder, each of which is imported when its
rule is asked for."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from textwrap import indent
from typing import TYPE_CHECKING

from nparam_lint import UsageError
from nparam_lint.rules.rule import Rule, code_and_name

if TYPE_CHECKING:
    from collections.abc import Iterator


class UnknownRule(UsageError):
    """No rule has this code or name; the message says which one is near."""


class _Catalogue(Mapping[str, Rule]):
    """Code → rule, in the order of the codes. The codes and names alone import nothing."""

    @cached_property
    def _modules(self) -> dict[str, str]:
        # Not with pathlib, which takes longer to import than all else here.
        files = sorted(os.listdir(os.path.dirname(__file__)))  # noqa: PTH120, PTH208
        modules = (file[: -len(".py")] for file in files if file.endswith(".py"))
        return {code_and_name(name)[0]: name for name in modules if name.startswith("npl")}

    @property
    def names(self) -> dict[str, str]:
        """Name → code."""
        return {code_and_name(module)[1]: code for code, module in self._modules.items()}

    def __getitem__(self, code: str) -> Rule:
        rule: Rule = import_module(f"{__package__}.{self._modules[code]}").RULE
        return rule

    def __contains__(self, code: object) -> bool:
        return code in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


RULES = _Catalogue()


def find(code: str) -> Rule:
    """The rule of that code or name. Raises UnknownRule."""
    wanted, names = code.strip(), RULES.names
    found = wanted.upper() if wanted.upper() in RULES else names.get(wanted.lower())
    if found is not None:
        return RULES[found]
    near = difflib.get_close_matches(wanted.upper(), RULES, n=1) or difflib.get_close_matches(
        wanted.lower(), names, n=1
    )
    codes = list(RULES)
    hint = f"did you mean {near[0]}?" if near else f"there are {codes[0]} to {codes[-1]}"
    raise UnknownRule(f"no rule {wanted!r}; {hint}")


def explain(code: str) -> str:
    """The page of one rule for a terminal. Raises UnknownRule."""
    rule = find(code)
    return "\n".join(
        [
            f"{rule.code}  {rule.name}  ({state(rule)})",
            "",
            rule.summary,
            "",
            rule.explanation,
            "",
            "Reported:",
            "",
            indent(rule.example_bad, "    "),
            "",
            "Better:",
            "",
            indent(rule.example_good, "    "),
            "",
            f"What to do: {rule.remedy}",
            "",
        ]
    )


def state(rule: Rule) -> str:
    """Its severity, and whether it is off by default."""
    return rule.severity if rule.enabled else f"{rule.severity}, off by default"
