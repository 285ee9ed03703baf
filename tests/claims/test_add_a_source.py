"""A source of stated counts is one file and one row: that of docs/extend.md."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from nparam_lint.discover.claims import stated

EXTEND = Path(__file__).parents[2] / "docs" / "extend.md"


def test_the_source_of_the_page_reads_its_texts(monkeypatch):
    section = EXTEND.read_text("utf-8").split("## Add a source of stated counts")[1]
    (row,) = re.findall(r"`(Source\(.*\))`", section)
    code = section.partition("```python\n")[2].partition("```")[0]
    module = ModuleType("asciidoc")
    exec(code, module.__dict__)
    monkeypatch.setitem(sys.modules, "nparam_lint.discover.claims.stated.asciidoc", module)
    source = eval(row, {"Source": stated.Source})
    text = b"= Nets\n\nNet has 7M parameters.\n"
    assert [*stated.stated_counts("a.adoc", text)] == []
    monkeypatch.setattr(stated, "SOURCES", (*stated.SOURCES, source))
    (count,) = stated.stated_counts("a.adoc", text)
    assert (count.text, count.line, count.column) == ("7M parameters", 3, 9)
