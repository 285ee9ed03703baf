"""Every block of rows as a plain table, for formats that draw nothing of their own for it."""

from __future__ import annotations

from nparam_lint.report import budget_outcomes, folded_modules
from nparam_lint.report.document import Listing, ModelBudgets, Modules, Table


def plain_table(block: Table | Modules | ModelBudgets | Listing) -> Table:
    """The columns and rows of a block."""
    if isinstance(block, Modules):
        return folded_modules.plain_table(block.modules, block.depth, block.limit)
    if isinstance(block, ModelBudgets):
        return budget_outcomes.plain_table(block.models)
    return block.table if isinstance(block, Listing) else block
