"""`nparam-lint update` writes what it shows, and a check agrees on what is left. What it says is on
its page."""

import json
import shutil

import pytest

PAGE = "update"


@pytest.fixture(scope="module")
def update(nparam_lint):
    def run(root, *arguments, **more):
        return nparam_lint("update", *arguments, cwd=root, **more)

    return run


def test_a_diff_is_what_is_written_and_a_check_agrees_on_what_is_left(
    place, tmp_path, update, nparam_lint, applied, contents
):
    root = shutil.copytree(place, tmp_path / "place" / "project")
    shutil.copy(place.parent / "shared.toml", root.parent)
    before = contents(root.parent)
    shown = update(root, "--diff", "--check")
    assert contents(root.parent) == before
    done = update(root)
    written = contents(root)
    again = update(root)
    assert contents(root) == written
    assert done.stdout == shown.stderr.replace("would be ", "")
    assert (shown.returncode, done.returncode, again.returncode) == (1, 1, 1)
    assert applied(place, shown.stdout, "--unidiff-zero") == written
    checked = nparam_lint("--declared", "--format", "json", cwd=root)
    findings = json.loads(checked.stdout)["findings"]
    broken = {f"{f['path']}:{f['line']}" for f in findings if f["severity"] == "error"}
    assert broken == {line.split("  ")[0] for line in again.stdout.splitlines()[:-1]}


def test_json_is_one_document(place, update, tmp_path):
    file = tmp_path / "edits.json"
    done = update(place, "net.py::Net[head]", "--check", "--format", "json", "--output-file", file)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["edits"] == [
        {
            "path": "nparam-lint.toml",
            "line": 5,
            "column": 1,
            "target": "net.py::Net",
            "selector": "head",
            "origin": "config",
            "old": "20",
            "new": "22",
            "actual": 22,
            "modules": 1,
            "because": None,
        }
    ]
    assert (document["written"], document["files"]) == (False, ["nparam-lint.toml"])
    assert '+"net.py::Net[head]" = 22  # and its bias' in document["diff"]
    assert document["summary"] == {"edits": 1, "left": 0, "held": 0}
