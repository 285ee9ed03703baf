"""The schemas of the JSON documents, by the command that makes them.

Version 1: keys may be added to a document, and none is changed, so other keys are not forbidden.
"""

from __future__ import annotations

from typing import Any

from nparam_lint.analysis.documents.compare_document import CompareDocument
from nparam_lint.analysis.documents.formula_data import FormulaDocument
from nparam_lint.analysis.documents.solve_document import SolveDocument
from nparam_lint.analysis.sweep.row_lines import SweepLine
from nparam_lint.api.schemas.python_types import Schema, schema_of
from nparam_lint.changes.documents.diff_data import DiffDocument
from nparam_lint.changes.documents.history_document import HistoryDocument
from nparam_lint.ground.values import NameValue
from nparam_lint.report.annotate_document import AnnotateDocument
from nparam_lint.report.check_data import CheckDocument
from nparam_lint.report.claims_document import ClaimsDocument
from nparam_lint.rewrite.plan_document import PlanDocument

NAME = "urn:nparam-lint:report:{}:1"  # with the version of the reports
REPORTS: dict[str, Any] = {
    "check": CheckDocument,
    "claims": ClaimsDocument,
    "merge": CheckDocument,
    "show": CheckDocument,
    "diff": DiffDocument,
    "compare": CompareDocument,
    "formula": FormulaDocument,
    "solve": SolveDocument,
    "sweep": SweepLine,
    "annotate": AnnotateDocument,
    "history": HistoryDocument,
    "update": PlanDocument,
    "init": PlanDocument,
}


def report_schema(command: str) -> Schema:
    """Of what `nparam-lint COMMAND --format json` prints."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": NAME.format(command),
        **schema_of(REPORTS[command]),
        "title": f"nparam-lint {command} --format {'jsonl' if command == 'sweep' else 'json'}",
    }
    if command == "sweep":  # the other keys of a line are arguments
        schema["additionalProperties"] = schema_of(NameValue)
    return schema
