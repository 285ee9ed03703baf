"""`python -m nparam_lint.api.schemas FOLDER` writes all schemas there."""

import sys
from pathlib import Path

from nparam_lint.api.schemas import schemas, text_of

for name, make in schemas().items():
    Path(sys.argv[1], f"{name}.json").write_text(text_of(make()), encoding="utf-8")
