"""The data of pictures, in a page that stays small. That they have all modules of the JSON report
is asked of the script that reads them (`test_page_in_browser.py`)."""

import json
import re

import pytest
from msgspec.structs import replace
from page_samples import distinct
from render_samples import rendered
from report_samples import gpt, measured, model, net, report, rows

from nparam_lint.report import Options
from nparam_lint.report.pictures import PageData, Picture


def page(*models) -> str:
    return rendered("html", report(*models), Options())


def data_in(page: str):
    found = re.search('<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(found[1])


def test_repeated_blocks_are_in_the_data_once():
    """However many there are, and in whichever model."""

    def built(blocks):  # a comprehension makes all blocks on one line
        modules = tuple(replace(row, source=None) for row in gpt(blocks))
        return model(f"a.py::A{blocks}", measured(modules))

    few, many = (data_in(page(built(n))) for n in (2, 96))
    assert len(few["nodes"]) == len(many["nodes"])
    both = data_in(page(built(2), built(96)))
    assert len(both["nodes"]) < len(few["nodes"]) + 5  # what holds the blocks


def test_roles_are_those_that_are_passed():
    data = PageData(lambda *_: {"hidden": "feed-forward", "out": "output"})
    number = data.add(Picture((("Net", measured(net())),)))
    found = json.loads(data.json)
    assert number == 0
    roles = [node[3] if node[3] is None else found["strings"][node[3]] for node in found["nodes"]]
    assert roles == ["output", None, "feed-forward", None]


def test_nothing_in_the_data_ends_its_element():
    modules = rows([("</script><b>", "Linear", 1), ("a", "<!--", 2)])
    text = page(model("a.py::A", measured(modules)))
    assert len(data_in(text)["nodes"]) == 3


# --- size -----------------------------------------------------------------------------------------


def test_a_page_of_ten_thousand_distinct_modules_stays_small():
    assert (
        len(page(model("a.py::A", measured(distinct(10_000))))) < 1_000_000
    )  # bytes; allowed: 6 MB


@pytest.mark.thorough
def test_a_page_of_three_hundred_models_stays_small():
    models = [model(f"zoo/m{i}.py::M{i}", measured(distinct(150, i))) for i in range(300)]
    assert len(page(*models)) < 3_000_000
