"""The page docs/rules.md, made from the rule files.

`python docs/write_rules.py > docs/rules.md` writes it.
"""

from __future__ import annotations

import sys

from nparam_lint.ground.rule_catalogue import RULES, rule_page, state

_HEAD = """\
# The rules

This page is made from the files in `nparam_lint/gate/rules`. `nparam-lint rule CODE` shows the same
in a terminal. The rules NPL0xx are about budgets and counts; the rules NPL1xx need only the source
([more about those](static-rules.md)).

| code | finds | severity |
|---|---|---|
"""


def page() -> str:
    """The whole page, in Markdown: a table of all rules, and a section for each."""
    rows = (
        f"| [{rule.code}](#{rule.code.lower()}-{rule.name}) | {rule.summary} | {state(rule)} |\n"
        for rule in RULES.values()
    )
    return _HEAD + "".join([*rows, *(f"\n#{rule_page(code)}" for code in RULES)])


if __name__ == "__main__":
    sys.stdout.buffer.write(page().encode("utf-8"))
