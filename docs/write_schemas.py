"""The schemas in docs/schemas: `python docs/write_schemas.py` writes them."""

from pathlib import Path

from nparam_lint.api.schemas import schemas, text_of

for name, make in schemas().items():
    path = Path(__file__).with_name("schemas") / f"{name}.json"
    path.write_text(text_of(make()), encoding="utf-8")
