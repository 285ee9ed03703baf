"""A run that is divided among machines, and put together again."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from textwrap import dedent

import pytest
from sample_files import write_files

FILES = {
    "nets/one.py": """
        import torch.nn as nn


        class Block(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.up = nn.Linear(d, 2 * d)


        class Net(nn.Module):
            '''nparam: 220
            nparam[up.*]: 7
            nparam: 2*d*d + 3*d
            '''

            def __init__(self, d=10):
                super().__init__()
                self.block = Block(d)
        """,
    "nets/two.py": """
        import torch.nn as nn
        from nets.one import Block, Net


        class Large(nn.Module):
            '''nparam: 1k'''  # nparam: ignore[NPL001]

            def __init__(self):
                super().__init__()
                self.net = Net()
                self.hidden = [nn.Linear(2, 2)]  # nparam: ignore[NPL101]


        class Small(Block):
            '''nparam: 12'''

            def __init__(self):
                super().__init__(2)


        class Other(Block):
            def __init__(self, size):
                super().__init__(size)  # nparam: ignore[NPL005]
        """,
    "nets/three.py": """
        import torch.nn as nn
        import does_not_exist


        class Never(nn.Module):
            '''nparam: 5'''


        class Nobody(nn.Module):
            def __init__(self):
                super().__init__()
        """,
    "train.py": """
        from nets.two import Other
        from nets.one import Net

        Other(size=4)
        Net(d=3)
        """,
    "nparam-lint.toml": """
        device = "meta"
        [budgets]
        "nets/two.py::Small[trainable]" = 12
        "nets/one.py::Net(d=5)" = "60"
        "nets/gone.py::Net" = 1
        """,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    files = {name: dedent(text).lstrip() for name, text in FILES.items()}
    return write_files(tmp_path_factory.mktemp("project"), files)


@pytest.fixture(scope="module")
def shards(root, nparam_lint, tmp_path_factory):
    """The reports of three shards, and what each said."""
    place = tmp_path_factory.mktemp("reports")
    said = []
    for number in (1, 2, 3):
        file = place / f"{number}.json"
        given = ("--shard", f"{number}/3", "--format", "json", "--output-file", file)
        said.append(nparam_lint(*given, cwd=root))
        assert said[-1].stderr == ""
    return place, said


def without_times(document):
    for model in document["models"]:
        model.pop("seconds", None)
        model.pop("cached", None)
    for name in ("seconds", "cached"):
        document["summary"].pop(name)
    return document


def test_the_union_is_what_the_whole_run_says(root, nparam_lint, shards):
    whole = nparam_lint("--format", "json", "--no-cache", cwd=root)
    merged = nparam_lint("merge", *sorted(shards[0].iterdir()), "--format", "json", cwd=root)
    assert (merged.returncode, merged.stderr) == (whole.returncode, "") == (1, "")
    found = without_times(json.loads(merged.stdout))
    assert found == without_times(json.loads(whole.stdout))
    codes = [finding["code"] for finding in found["findings"]]
    assert {"NPL001", "NPL007", "NPL008", "NPL015"} <= {*codes}
    assert codes.count("NPL015") == 1  # that about NPL005: the others silence something somewhere


@pytest.mark.parametrize("name", ["text", "sarif", "junit", "markdown", "gitlab", "concise"])
def test_in_every_format(root, nparam_lint, shards, name):
    wide = {"COLUMNS": "200"}
    whole = nparam_lint("--format", name, cwd=root, **wide)
    reports = sorted(shards[0].iterdir())
    merged = nparam_lint("merge", *reports, "--format", name, cwd=root, **wide)

    def steady(text):
        lines = text.replace(" (7 from the cache)", "").splitlines()
        return [line for line in lines if " s" not in line and "time=" not in line]

    assert steady(merged.stdout) == steady(whole.stdout)
    assert merged.returncode == whole.returncode


def test_each_judges_its_part_and_says_which(root, shards):
    place, said = shards
    documents = [json.loads((place / f"{number}.json").read_text()) for number in (1, 2, 3)]
    judged = [target for one in documents for target in one["shard"]["judged"]]
    assert len(judged) == documents[0]["shard"]["partition"]["count"] == 7
    for number, (one, text) in enumerate(zip(documents, said, strict=True), 1):
        shard = one["shard"]
        assert (shard["number"], shard["of"]) == (number, 3)
        assert f"shard {number} of 3: {len(shard['judged'])} of 7 models" in text.stdout
        # What the source alone shows is said once.
        codes = {f["code"] for f in one["findings"]} & {"NPL008", "NPL015", "NPL101"}
        assert codes == ({"NPL008"} if number == 1 else set())
    assert not list(root.glob("*.json"))


def test_an_empty_shard_passes_and_says_so(root, nparam_lint):
    done = nparam_lint("--shard", "8/9", "--no-cache", cwd=root)
    assert done.returncode == 0
    assert "Nothing to do in shard 8 of 9: the other shards have all 7 models." in done.stdout


# --- what cannot be merged --------------------------------------------------------------------


def edited(change, name="2.json", copy=""):
    """Changes a report, or makes such a copy of it: the record in it, which is JSON."""

    def edit(reports):
        data = json.loads((reports / name).read_text())
        record = json.loads(zlib.decompress(base64.b64decode(data["shard"]["record"])))
        change(record)
        packed = base64.b64encode(zlib.compress(json.dumps(record).encode())).decode()
        data["shard"]["record"] = packed
        (reports / (copy or name)).write_text(json.dumps(data))

    return edit


def partition(**values):
    return edited(lambda record: record["shard"]["partition"].update(values))


def written(change):
    """Changes the text of a report."""

    def edit(reports):
        file = reports / "2.json"
        file.write_text(change(file.read_text()))

    return edit


def count_more(record):
    measured = (model["measurement"] for model in record["models"])
    next(one for one in measured if "modules" in one)["modules"][0]["total"] += 7


# What is done to the reports of three shards, and what is said then.
CASES = {
    "another commit": (partition(commit="abc"), "are of the commits no repository and abc"),
    "another version": (partition(tool="0.0.1"), "were made by nparam-lint"),
    "other sources": (partition(sources="abc"), "are of different source files"),
    "other settings": (
        partition(settings="abc"),
        "were made with different options or settings",
    ),
    "other parts": (partition(models="abc"), "divide the models in different ways"),
    "a model that no shard has": (
        edited(lambda record: record["shard"]["places"].pop(0)),
        "the reports do not have every model of the run once",
    ),
    "a model without a place": (
        edited(lambda record: record["models"].pop()),
        "2.json is damaged",
    ),
    "another number of shards": (
        edited(lambda record: record["shard"].update(of=4)),
        "parts of different runs: shard 1 of 3, and shard 2 of 4",
    ),
    "another torch": (
        edited(lambda record: record["environment"].update(torch="2.1.0")),
        "were built with torch ",
    ),
    "one is missing": (
        lambda reports: (reports / "2.json").unlink(),
        "shard 2 of 3 is not among the 2 reports",
    ),
    "the same twice": (
        lambda reports: shutil.copy(reports / "2.json", reports / "4.json"),
        "4.json says the same as 2.json (shard 2 of 3)",
    ),
    "the same twice with different times": (
        edited(lambda record: record.update(seconds=99.0), "1.json", "4.json"),
        "4.json says the same as 1.json",
    ),
    "two disagree about a model": (
        edited(count_more, "1.json", "4.json"),
        "1.json and 4.json are both shard 1 of 3, and disagree about nets/",
    ),
    "half a file": (
        written(lambda text: text[: len(text) // 2]),
        "2.json is not JSON, or was cut off",
    ),
    "brackets without an end": (written(lambda _: "[" * 10**5), "2.json is not JSON"),
    "another object": (written(lambda _: "{}"), "2.json is not the JSON report of a check"),
    "a list": (written(lambda _: "[1]"), "2.json is not the JSON report of a check"),
    "a damaged record": (
        written(lambda text: text.replace('"record":"', '"record":"AAAA')),
        "2.json is damaged",
    ),
    "a whole run": (
        written(lambda text: text.replace('"shard":', '"other":')),
        "it is about a whole run",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_merged(case, shards, nparam_lint, tmp_path):
    """What says the same as another is left out, with a warning."""
    change, said = CASES[case]
    reports = shutil.copytree(shards[0], tmp_path / "reports")
    change(reports)
    names = sorted(file.name for file in reports.iterdir())
    done = nparam_lint("merge", *names, cwd=reports)
    assert said in done.stderr
    assert done.returncode == (1 if "the same" in case else 2)


def test_a_run_that_failed(root, nparam_lint, tmp_path):
    file = tmp_path / "1.json"
    given = ("--shard", "1/1", "--format", "json", "--output-file", file, "--python", "/none")
    assert nparam_lint(*given, cwd=root).returncode == 2
    done = nparam_lint("merge", file, cwd=root)
    assert done.returncode == 2
    assert "1.json says that its run failed: " in done.stderr
