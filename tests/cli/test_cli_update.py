"""`nparam-lint update` as a user meets it: what is rewritten, what is left alone, and what it says.
Everything runs for real."""

import json
import shutil

import pytest
from sample_files import write_files

NET = '''\
"""Networks."""
from torch import nn


class Net(nn.Module):
    """A net with ~2K parameters.

    nparam: 300            # exact
    nparam: 0.30k
    nparam: 300 ± 5%
    nparam: ~30
    nparam: 352
    nparam: <= 300
    nparam: 1..300
    nparam: width*(3*width + 2)
    nparam[blocks.*]: 100
    nparam[bytes]: 1.2KB
    nparam[*]: 330
    nparam(width=4): 50
    """

    def __init__(self, width=10):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.head = nn.Linear(width, 2)


class Broken(nn.Module):
    """nparam: 5"""

    def __init__(self):
        raise ValueError("no")


def small():
    "nparam: 5"
    return nn.Linear(1, 1)


class Malformed(nn.Module):
    """nparam: about five"""
'''
CONFIG = """\
extend = "../shared.toml"

[budgets]
# the head
"net.py::Net[head]" = 20  # and its bias
"net.py::Net" = ["0.2k", "352"]
"gone.py::Net" = 5
"""
SHARED = '[budgets]\n"torch.nn::Linear(2, 3)" = 8\n'


@pytest.fixture(scope="module")
def update(nparam_lint):
    def run(root, *arguments, **more):
        return nparam_lint("update", *arguments, "--device", "meta", cwd=root, **more)

    return run


FILES = {"project/net.py": NET, "project/nparam-lint.toml": CONFIG, "shared.toml": SHARED}


def make(place):
    return write_files(place / "place", FILES) / "project"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """What no test writes to."""
    return make(tmp_path_factory.mktemp("update"))


def test_counts_are_written_in_the_form_in_which_they_stood(
    tmp_path, update, nparam_lint, applied, contents, expected
):
    """A diff and a check write nothing, and say what is written; twice is once, and a check agrees
    on what is left."""
    root = make(tmp_path)
    shown = update(root, "--diff", "--check")
    assert contents(root.parent) == FILES
    done = update(root)
    written = contents(root)
    again = update(root)
    assert contents(root) == written
    assert done.stdout == shown.stderr.replace("would be ", "")
    assert (shown.returncode, done.returncode, again.returncode) == (1, 1, 1)
    expected(
        {
            "update --diff --check": shown.stdout + shown.stderr,
            "update, once more": again.stdout + again.stderr,
        }
    )
    assert contents(root.parent)["shared.toml"] == SHARED
    shutil.rmtree(root)
    make(tmp_path)
    assert applied(root, shown.stdout, "--unidiff-zero") == written
    write_files(root, written)
    checked = nparam_lint("--declared", "--format", "json", "--device", "meta", cwd=root)
    findings = json.loads(checked.stdout)["findings"]
    broken = {f"{f['path']}:{f['line']}" for f in findings if f["severity"] == "error"}
    assert broken == {line.split("  ")[0] for line in again.stdout.splitlines()[:-1]}


def test_json_is_one_document(project, update, tmp_path):
    file = tmp_path / "edits.json"
    done = update(
        project, "net.py::Net[head]", "--check", "--format", "json", "--output-file", file
    )
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


# --- what is named ----------------------------------------------------------------------------


def test_only_what_is_named_is_touched(tmp_path, update, contents):
    root = make(tmp_path)
    done = update(root / "..", "project/net.py::Net[blocks.*]", "project/net.py::small", "-q")
    assert done.stdout == "2 budgets rewritten in net.py\n"
    assert (done.returncode, done.stderr) == (0, "")
    net = NET.replace("[blocks.*]: 100", "[blocks.*]: 110")
    net = net.replace('"nparam: 5"\n    return', '"nparam: 2"\n    return')
    assert contents(root.parent) == FILES | {"project/net.py": net}


def test_a_file_names_what_stands_in_it_and_a_call_what_it_builds(project, update):
    done = update(project, "nparam-lint.toml", "net.py::Net( width = 4 )", "--diff")
    assert [line for line in done.stdout.splitlines() if line[:1] in "+-"] == [
        "--- a/net.py",
        "+++ b/net.py",
        "-    nparam(width=4): 50",
        "+    nparam(width=4): 70",
        "--- a/nparam-lint.toml",
        "+++ b/nparam-lint.toml",
        '-"net.py::Net[head]" = 20  # and its bias',
        '-"net.py::Net" = ["0.2k", "352"]',
        '+"net.py::Net[head]" = 22  # and its bias',
        '+"net.py::Net" = ["0.4k", "352"]',
    ]
    assert done.returncode == 1  # gone.py stands in the config, too


# --- what cannot be ---------------------------------------------------------------------------


def test_without_a_budget_there_is_nothing_to_do(tmp_path, update):
    (tmp_path / "net.py").write_text("from torch import nn\nclass Net(nn.Module): pass\n")
    done = update(tmp_path, "--check")
    said = "No budget is declared: nothing to update. nparam-lint init writes them.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_a_read_only_file_keeps_all_from_being_written(tmp_path, update, contents):
    root = make(tmp_path)
    (root / "nparam-lint.toml").chmod(0o444)
    done = update(root, "net.py::Net")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "nparam-lint: cannot write nparam-lint.toml: it is read-only; next: chmod u+w "
        "nparam-lint.toml; nothing was written\n"
    )
    assert contents(root.parent) == FILES
