"""`nparam-lint compare` as a user meets it: real models, several projects, formats, exit codes."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest

PAGE = "compare"
GPT = "nets/models.py::GPT"


@pytest.fixture(scope="module")
def place(place):
    """Two projects side by side, and a directory with none."""
    shutil.copytree(place / "one", place / "two")
    with (place / "two" / "nparam-lint.toml").open("a") as file:
        file.write(f'[arguments]\n"{GPT}" = "layers=1, d=16"\n')
    (place / "plain").mkdir()
    return place


@pytest.fixture
def compare(answered):
    return partial(answered, "compare", cwd="one")


LSTM, LARGE = "nets/models.py::LSTM(hidden=6)", "nets/models.py::GPT(layers=3)"


def test_models_of_several_projects_are_built_by_their_own(compare):
    given = [f"../one/{GPT}", f"../two/{GPT}"]
    models = json.loads(compare(*given, "--format", "json", cwd="plain").stdout)["models"]
    assert [model["given"] for model in models] == given
    assert [model["target"] for model in models] == [GPT] * 2
    assert [model["call"] for model in models] == ["GPT()", "GPT(layers=1, d=16)"]
    assert [model["counts"]["total"] for model in models] == [2144, 4080]
    assert models[0]["roles"]["attention"] == 576


def test_one_that_cannot_be_built_fails_and_the_others_are_shown(compare):
    models = ("nets/models.py::Broken", "nets/models.py::LSTM")
    broken, right = json.loads(compare(*models, "--format", "json", code=1).stdout)["models"]
    assert (broken["status"], broken["roles"], broken["code"]) == ("not_measured", None, "NPL004")
    assert right["status"] == "measured"


def test_a_page_is_a_document_also_on_failure(compare):
    done = compare("Nope", "--format", "markdown", code=2)
    assert done.stdout.startswith("```text\n")
    assert "no model of this project is called Nope" in done.stdout


def test_what_is_to_be_within_is_data_too(compare):
    done = compare(LSTM, GPT, LARGE, "--within", "20%", "--format", "json", code=1)
    document = json.loads(done.stdout)
    assert document["within"] == "20%"
    assert document["pairs"] == [
        {"larger": LARGE, "smaller": GPT, "difference": 872, "ratio": 3016 / 2144, "ok": False},
        {"larger": LARGE, "smaller": LSTM, "difference": 630, "ratio": 3016 / 2386, "ok": False},
        {"larger": LSTM, "smaller": GPT, "difference": 242, "ratio": 2386 / 2144, "ok": True},
    ]
    document = json.loads(compare(LSTM, GPT, LARGE, "--format", "json").stdout)
    assert (document["within"], document["pairs"]) == (None, [])
