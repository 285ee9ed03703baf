"""The page docs/rules.md, made from the rule files.

`python -m nparam_lint.rules.docs_page > docs/rules.md` writes it.
"""

from __future__ import annotations

import sys
from textwrap import indent
from typing import TYPE_CHECKING

from nparam_lint.ground.rule_catalogue import RULES, state

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.ground.rule_catalogue import Rule

_HEAD = """\
# The rules

This page is made from the files in `nparam_lint/rules`. `nparam-lint rule CODE` shows the same in a
terminal. The rules NPL0xx are about budgets and counts; the rules NPL1xx need only the source
([more about those](static-rules.md)).
"""


def page() -> str:
    """The whole page, in Markdown."""
    rules = RULES.values()
    rows = [f"| [{r.code}](#{_anchor(r)}) | {r.summary} | {state(r)} |" for r in rules]
    table = "\n".join(["| code | finds | severity |", "|---|---|---|", *rows])
    return "\n".join([_HEAD, table, *(part for rule in rules for part in _section(rule))]) + "\n"


def rule_page(code: str) -> str:
    """The part of it that is about one rule, as a page of its own."""
    return "\n".join(_section(RULES[code])).lstrip().removeprefix("#") + "\n"


def _anchor(rule: Rule) -> str:
    return f"{rule.code.lower()}-{rule.name}"


def _section(rule: Rule) -> Iterator[str]:
    yield f"\n## {rule.code} {rule.name}\n"
    yield f"{rule.summary} ({state(rule).capitalize()}.)\n"
    yield f"{rule.explanation}\n"
    yield f"Reported:\n\n{indent(rule.example_bad, '    ')}\n"
    yield f"Better:\n\n{indent(rule.example_good, '    ')}\n"
    yield f"**What to do:** {rule.remedy}"


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode("utf-8"))
