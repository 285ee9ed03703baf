"""A rule in Markdown: what an editor shows, and docs/rules.md is made of."""

from __future__ import annotations

from nparam_lint.ground.rule_catalogue import RULES, explanation, state


def rule_page(code: str) -> str:
    """All that is to be said about one rule, as a page of its own."""
    rule = RULES[code]
    paragraphs = (
        f"# {rule.code} {rule.name}",
        f"{rule.summary} ({state(rule).capitalize()}.)",
        *explanation(rule),
        f"**What to do:** {rule.remedy}\n",
    )
    return "\n\n".join(paragraphs)
