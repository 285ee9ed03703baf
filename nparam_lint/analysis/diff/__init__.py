"""What changed between two reports: by model and by module, exactly. Pure: nothing is read or run.

`compare` gives the `DiffReport` that `analysis.documents` makes a document of.
"""

from nparam_lint.analysis.diff.compare_reports import Side, compare
from nparam_lint.analysis.diff.diff_records import Base, DiffReport, ModelDiff, ModuleChange, Status

__all__ = ["Base", "DiffReport", "ModelDiff", "ModuleChange", "Side", "Status", "compare"]
