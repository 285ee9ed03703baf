"""What changed between two reports: by model and by module, exactly. Pure: nothing is read or run.

`compare` gives the `DiffReport` that `analysis.documents` makes a document of.
"""

from nparam_lint.changes.model_changes import Side, compare
from nparam_lint.changes.records import Base, DiffReport, ModelDiff, ModuleChange, Status

__all__ = ["Base", "DiffReport", "ModelDiff", "ModuleChange", "Side", "Status", "compare"]
