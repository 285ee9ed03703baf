"""Whatever breaks a budget is refused, and accepted once it is mended."""

from __future__ import annotations

import pytest
from commits import JUDGED, REFUSED, UNREADABLE, accepted, model, refused

CONFIG = """\
[tool.nparam-lint.budgets]
"net.py::Net" = {budget}
"""
LAYERS = """\
from torch import nn


class Wide(nn.Linear):
    def __init__(self, width):
        super().__init__(width, {factor} * width)
"""
LAYERED = '''\
from torch import nn

from pkg.layers import Wide


class Net(nn.Module):
    """nparam: 220"""

    def __init__(self):
        super().__init__()
        self.layer = Wide(10)
'''
READING = '''\
from pathlib import Path

from torch import nn


class Net(nn.Module):
    """nparam: 110"""

    def __init__(self):
        super().__init__()
        text = Path(__file__).with_name("net.yaml").read_text()
        width = int(text.removeprefix("width: "))
        self.layer = nn.Linear(width, width)
'''
PARTS = '''\
from torch import nn

from first import WIDTH
from second import DEPTH


class Net(nn.Module):
    """nparam: <= 500"""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH))
'''


def test_a_budget_that_only_the_config_changes(judged):
    sample = judged({"net.py": model(10), "pyproject.toml": CONFIG.format(budget=110)})
    sample.add({"pyproject.toml": CONFIG.format(budget=111)})
    refused(sample.commit(), "pyproject.toml:2:1 NPL001", "declared 111", "110")
    sample.add({"pyproject.toml": CONFIG.format(budget='"<= 120"')})
    accepted(sample.commit())


def test_a_layer_that_a_model_imports(judged):
    files = {"pkg/__init__.py": "", "pkg/layers.py": LAYERS.format(factor=2), "pkg/net.py": LAYERED}
    sample = judged(files)
    sample.add({"pkg/layers.py": LAYERS.format(factor=3)})
    refused(sample.commit(), "pkg/net.py:7:16 NPL001", "declared 220", "330")
    sample.add({"pkg/net.py": LAYERED.replace("220", "330")})
    accepted(sample.commit())


def test_a_file_that_a_model_reads(judged):
    sample = judged({"net.py": READING, "net.yaml": "width: 10"})
    sample.add({"net.yaml": "width: 20"})
    refused(sample.commit(), "net.py:7:16 NPL001", "declared 110", "420")
    sample.add({"net.yaml": "width: 10"})
    sample.add({"net.yaml": "width: 10\n"})
    accepted(sample.commit())


def test_a_deleted_model_leaves_a_stale_budget_in_the_config(judged):
    sample = judged({"net.py": model(10), "pyproject.toml": CONFIG.format(budget=110)})
    sample.git("rm", "--quiet", "net.py")  # only a deletion: hooks that take file names get none
    refused(sample.commit(), "pyproject.toml:2:1 NPL008", "there is no file net.py")
    sample.add({"pyproject.toml": "[tool.nparam-lint]\n"})
    accepted(sample.commit(), "nothing to check")


def test_a_model_deleted_with_its_docstring_takes_its_budget_along(judged):
    sample = judged({"net.py": model(10, 110), "other.py": model(20, 420)})
    sample.git("rm", "--quiet", "net.py")
    accepted(sample.commit(), "1 budget holds", "staged: 1 model")


def test_a_class_deleted_from_a_file_that_stays(judged):
    both = model(10, name="Net") + model(20, name="Other")
    sample = judged({"net.py": both, "pyproject.toml": CONFIG.format(budget=110)})
    sample.add({"net.py": model(20, name="Other")})
    refused(sample.commit(), "NPL008", "net.py has no 'Net'")
    sample.add({"net.py": both})
    accepted(sample.commit("--allow-empty"))


def test_a_renamed_file(judged):
    sample = judged({"net.py": model(10), "pyproject.toml": CONFIG.format(budget=110)})
    sample.git("mv", "net.py", "nets.py")
    refused(sample.commit(), "NPL008", "there is no file net.py; did you mean nets.py?")
    sample.add({"pyproject.toml": CONFIG.format(budget=110).replace("net.py", "nets.py")})
    accepted(sample.commit())


@pytest.mark.thorough
def test_a_merge_of_two_sides_that_are_fine_by_themselves(hooked):
    # Without a conflict git runs pre-merge-commit, and not pre-commit.
    sample = hooked({"net.py": PARTS, "first.py": "WIDTH = 10\n", "second.py": "DEPTH = 2\n"})
    sample.git("checkout", "--quiet", "-b", "wider")
    sample.committed({"first.py": "WIDTH = 15\n"})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"second.py": "DEPTH = 4\n"})
    merged = sample.attempt("merge", "--quiet", "--no-edit", "wider")
    refused(merged, "net.py:8:16 NPL001", "declared <= 500", "960")
    assert sample.git("rev-list", "--count", "HEAD") == "2"
    # Git has left the merge staged: mended there, `git commit` concludes it.
    sample.add({"second.py": "DEPTH = 2\n"})
    accepted(sample.commit())
    assert sample.git("rev-list", "--count", "--merges", "HEAD") == "1"


def test_a_merge_with_a_conflict(judged):
    sample = judged({"net.py": model(10)})
    sample.git("checkout", "--quiet", "-b", "side")
    sample.committed({"net.py": model(11)})
    sample.git("checkout", "--quiet", "main")
    sample.committed({"net.py": model(9)})
    assert sample.attempt("merge", "side").returncode == 1
    sample.add({"net.py": model(20, UNREADABLE)})
    refused(sample.commit(), *REFUSED)
    sample.add({"net.py": model(11)})
    accepted(sample.commit(), JUDGED)
