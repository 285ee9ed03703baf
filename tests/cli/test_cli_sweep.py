"""The counts of many configurations: which, by what, and in which files."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
import time
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from msgspec.structs import replace

from nparam_lint.analysis.closed_forms.polynomial import Polynomial
from nparam_lint.analysis.sweep.row_lines import csv_head, csv_line
from nparam_lint.analysis.sweep.sweep import Grid, SweepRow
from nparam_lint.analysis.varied import grid_of, value_of
from nparam_lint.cli import common
from nparam_lint.cli import sweep as command
from nparam_lint.ground.errors import UsageError

PAGE = "sweep"
GRID = "width=8..24:8,depth=1,2,heads=2,6"


def net(width, depth, norm="layer", bias=True):
    return depth * (width * width + bias * width) + 2 * width * (norm == "layer")


@pytest.fixture
def sweep(answered):
    def run(target, *arguments, code=0):
        return answered("sweep", f"nets.py::{target}", *arguments, code=code)

    return run


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def counts(rows):
    return [row["nparam"] for row in rows]


@pytest.fixture(scope="module")
def swept(place, nparam_lint):
    return nparam_lint("sweep", "nets.py::Net", "--vary", GRID, cwd=place)


def test_by_form_and_built_where_its_conditions_do_not_hold(swept):
    rows = rows_of(swept.stdout)
    assert [(r["width"], r["depth"], r["heads"]) for r in rows] == [
        (w, d, h) for w in (8, 16, 24) for d in (1, 2) for h in (2, 6)
    ]
    reason = "raised AssertionError: heads have to divide the width"
    for row in rows:
        point = {name: row[name] for name in ("width", "depth", "heads")}
        if row["width"] % row["heads"]:
            assert row == point | {"nparam": None, "by": "built", "reason": reason}
        else:
            assert row == point | {"nparam": net(row["width"], row["depth"]), "by": "form"}
    assert "12 configurations: 8 by form, 4 not counted" in swept.stderr
    assert "8 of those by form built as well: they agree" in swept.stderr
    assert "not counted: 4× raised AssertionError" in swept.stderr


def test_all_are_built_if_asked_and_give_the_same(sweep, swept):
    built = rows_of(sweep("Net", "--vary", GRID, "--built").stdout)
    assert {row["by"] for row in built} == {"built"}
    assert counts(built) == counts(rows_of(swept.stdout))


# --- a wrong form -----------------------------------------------------------------------------


def test_a_form_that_is_wrong_ends_the_sweep(sweep, monkeypatch, tmp_path):
    whole = command.derive_all

    def wrong(*arguments, **more):
        forms, left = whole(*arguments, **more)
        one = Polynomial.constant(1)
        return [replace(form, total=form.total + one) for form in forms], left

    monkeypatch.setattr(command, "derive_all", wrong)
    file = tmp_path / "rows.jsonl"
    done = sweep("Net", "--vary", "width=8,16", "--out", file, code=1)
    assert re.search(
        r"the closed form is wrong at width=\d+: it gives [\d,]+, the model that was built has",
        done.stderr,
    )
    assert not file.exists()  # nothing that is not known to be right
    assert json.loads(sweep("Net", "--vary", "width=8", "--built").stdout)["nparam"] == net(8, 2)


# --- files of rows ----------------------------------------------------------------------------


def test_a_csv_file_has_what_json_lines_have(sweep, swept, tmp_path):
    sweep("Net", "--vary", GRID, "--out", tmp_path / "rows.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text())))
    lines = rows_of(swept.stdout)
    assert [row["nparam"] for row in table] == [str(r["nparam"] or "") for r in lines]
    assert [row["reason"] for row in table] == [r.get("reason", "") for r in lines]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is full")
def test_a_full_disk():
    with pytest.raises(UsageError, match="cannot write /dev/full: No space left on device"):
        common.write_chunks(["{}\n"], "/dev/full", "a")


@pytest.mark.thorough
def test_an_interrupted_sweep_leaves_whole_rows(place, environ, tmp_path):
    file = tmp_path / "rows.jsonl"
    words = ["sweep", "nets.py::Net", "--vary", "width=8..80000:2", "--built", "--out", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-m", "nparam_lint", *words],
        cwd=place,
        env=environ,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 100
    while not (file.exists() and file.stat().st_size) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    written = rows_of(file.read_text())
    assert written
    assert counts(written[:3]) == [net(w, 2) for w in (8, 10, 12)]


# --- without building -------------------------------------------------------------------------


def test_the_cross_product_is_never_in_memory():
    points = Grid(grid_of("a=1..1000000000,b=1..1000000000"))
    tracemalloc.start()
    try:
        last = next(islice(points, 50_000, None))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (last, points.count) == ({"a": 1, "b": 50_001}, 10**18)
    assert peak < 200_000


def test_truth_values_as_other_programs_write_them():
    written = ["True", "true", "TRUE", "False", "false", "FALSE", "'false'", "falsely"]
    values = [True, True, True, False, False, False, "false", "falsely"]
    assert grid_of(f"bias={'|'.join(written)}") == {"bias": values}


def test_values_that_text_cannot_hold_survive_csv():
    values = [7, "7", 2.5, "True", True, "false", None, "x, y", 'say "so"', "é", "", " x", "x\ny"]
    rows = [SweepRow({"a": value, "b": 1}, 3, "form") for value in values]
    rows += [SweepRow({"a": 7, "b": 1}, None, "built", "no, never")]
    lines = [csv_line(["a", "b"], row) for row in rows]
    *counted, failed = csv.reader(io.StringIO("".join(lines)))
    assert csv_head(["a", "b"]) == "a,b,nparam,by,reason\n"
    assert [(value_of(cell), *rest) for cell, *rest in counted] == [
        (value, "1", "3", "form", "") for value in values
    ]
    assert failed == ["7", "1", "", "built", "no, never"]
