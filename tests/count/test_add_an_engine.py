"""An engine is one file, and its name: one that uses threads of this process, and fails when it is
told to, in a copy of the package."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from package_copy import PackageCopy

NET = """\
from torch import nn


class Net(nn.Linear):
    \"\"\"nparam: 6\"\"\"

    def __init__(self):
        super().__init__(2, 2)
"""
EXTEND = Path(__file__).parents[2] / "docs" / "extend.md"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    found = PackageCopy(tmp_path_factory.mktemp("engine"), NET)
    section = EXTEND.read_text().partition("## Add an engine")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    engines = found.root / "nparam_lint" / "count" / "engines"
    (engines / "threads.py").write_text(code)
    settings = found.root / "nparam_lint" / "config" / "settings.py"
    known = 'ENGINES = ("dask",)'
    assert known in settings.read_text()
    more = settings.read_text().replace(known, 'ENGINES = ("dask", "failing", "threads")')
    settings.write_text(more)
    failing = code.replace(
        "return self.pool.submit(fn, *arguments, **more)",
        "self.failures -= 1\n"
        "        wrong = 'nowhere:nothing'\n"
        "        if self.failures >= 0:\n"
        "            arguments = (arguments[0], {**arguments[1], 'name': wrong})\n"
        "        return self.pool.submit(fn, *arguments, **more)",
    )
    assert failing != code
    start = "def connect(address):\n    found = ThreadMachines(4)\n    found.failures = int("
    failing += f"\n\n{start}address.partition('://')[2])\n    return found\n"
    (engines / "failing.py").write_text(failing)
    return found


@pytest.mark.thorough
def test_it_builds_models(copy: PackageCopy) -> None:
    done = copy.run("check", "--on", "threads://2", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert [m["counts"]["total"] for m in report["models"]] == [6]
    assert report["environment"]["reason"] == "threads://2, 1 machine"


@pytest.mark.thorough
def test_a_call_that_fails_is_repeated(copy: PackageCopy) -> None:
    done = copy.run("check", "--on", "failing://2", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [m["counts"]["total"] for m in json.loads(done.stdout)["models"]] == [6]


def test_it_is_not_repeated_for_ever(copy: PackageCopy) -> None:
    done = copy.run("check", "--on", "failing://3", "--format", "json")
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["code"] == "NPL005"
    assert (
        "its machine failed: No module named 'nowhere' (it was tried 3 times)"
        in (finding["message"])
    )
