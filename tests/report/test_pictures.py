"""The data of pictures: all modules of the JSON report, in a page that stays small."""

import json

import pytest
from msgspec.structs import replace
from page_data import data_in, rows_of, same_fields
from page_samples import distinct
from render_samples import rendered
from report_samples import everything, gpt, measured, model, net, report, rows

from nparam_lint.report import Options
from nparam_lint.report.pictures import DrawnModel, PageData, Picture


def page(*models) -> str:
    return rendered("html", report(*models), Options())


@pytest.mark.parametrize("value", [everything(), report(model("a.py::A", measured(net())))])
def test_the_page_has_the_modules_of_the_json_report(value):
    data = data_in(rendered("html", value, Options()))
    document = json.loads(rendered("json", value, Options()))
    models = [m for m in document["models"] if m["modules"]]
    drawn = {
        picture["sides"][0]["name"]: picture["sides"][0]["root"] for picture in data["pictures"]
    }
    marks = {finding["target"]: finding["severity"] for finding in document["findings"]}
    places = {"error": 0, "warning": 1}
    targets = [one["target"] for one in models]
    assert list(drawn) == sorted(targets, key=lambda target: places.get(marks.get(target), 2))
    for one in models:
        assert rows_of(data, drawn[one["target"]]) == same_fields(one["modules"])


def shared_net():
    """A module that is there twice, frozen and with buffers; and names that look like numbers."""
    leaves = [("a", "Linear", 10), ("7", "Linear", 5), ("08", "Linear", 5), ("9", "Linear", 5)]
    root, first, *others = rows(leaves, frozen=["a"])
    again = replace(first, path="b", own=0, shared_with="a", buffers=3)
    return root, first, again, *others


def test_what_is_unusual_is_in_the_data():
    found = measured(shared_net())
    value = report(model("a.py::A", found))
    data = data_in(rendered("html", value, Options()))
    (one,) = json.loads(rendered("json", value, Options()))["models"]
    assert rows_of(data, data["pictures"][0]["sides"][0]["root"]) == same_fields(one["modules"])


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
    number = data.add(Picture((DrawnModel("Net", net()),)))
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
