"""A path that is given asks for the models that depend on it as well, wherever these are."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from case_books import cases_beside
from model_source import TORCH, model_class
from pages import PageRun
from sample_repository import Sample


def net(name, imports="", layer="nn.Linear(10, 10)", budget=110):
    """The source of a model with 110 parameters."""
    doc = f"nparam: {budget}" if budget else ""
    return f"{TORCH}{imports}\n" + model_class(name, f"self.a = {layer}", doc=doc)


CASES = cases_beside(__file__, "dependents")
FILES = CASES[0].values[0].head
PAGE = Path(__file__).with_name("dependents") / "changes.md"


@pytest.fixture(scope="module")
def built(tmp_path_factory, environ, nparam_lint):
    """A project of which everything was built before."""
    repository = Sample.create(tmp_path_factory.mktemp("built") / "project", environ)
    repository.committed(FILES)
    assert nparam_lint("--declared", "-q", cwd=repository.path).returncode == 0
    return repository.path


@pytest.fixture
def asked(nparam_lint):
    """Asks about paths: the report."""

    def ask(root, *arguments, **more):
        done = nparam_lint(*arguments, "--format", "json", cwd=root, **more)
        assert not done.stderr, done.stderr
        return json.loads(done.stdout)

    return ask


def told(report):
    """Why each model was checked, and what is elsewhere."""
    numbers = (report["summary"]["elsewhere"] or {}).items()
    elsewhere = ", ".join(f"{number} {name}" for name, number in numbers) or "nothing"
    models = (model for model in report["models"] if model["way"] is None)
    said = [f"{model['target']}: {model['because'] or 'given'}" for model in models]
    return [*said, f"elsewhere: {elsewhere}"]


@pytest.mark.parametrize(("book", "case"), CASES)
def test_what_depends_on_a_path(built, asked, book, case, request):
    report = asked(built, *case.asked.split())
    assert all(model["cached"] for model in report["models"] if model["declared"])
    said = "\n".join(told(report))
    book.check(case.number, said, update=request.config.getoption("update"))


class AskingRun(PageRun):
    """`ask` is a check; its answer says what was found, too."""

    def said(self, command):
        if not command.startswith("ask"):
            return super().said(command)
        options = *command.split()[1:], "--format", "json"
        done = self.nparam_lint(*options, cwd=self.cwd, **self.environ)
        assert not done.stderr, done.stderr
        report = json.loads(done.stdout)
        assert not any(model.get("hint") for model in report["models"])
        found = [f"{one['code']} of {one['target']}" for one in report["findings"]]
        return "".join(f"{line}\n" for line in [*told(report), *found])


def test_what_is_built_after_a_change(tmp_path, environ, nparam_lint, request):
    own = {"NPARAM_LINT_CACHE": str(tmp_path / "cache")}
    run = AskingRun(tmp_path / "project", environ | own, nparam_lint)
    sample = Sample(run.folder, run.environ)
    sample.git("init", "--quiet")
    sample.committed(FILES)
    run.hold(PAGE, request.config)


IMPORTS = [
    "from layers import *",  # its __all__ names the module
    "from layers import (  # all\n    deep as d,\n)",
    "import os, layers.deep as d",
    "import torch; import layers.deep",
    "try: from layers.deep import Deep\nexcept ImportError: pass",
    "if True:import layers.deep",
    "from layers import \\\n    deep",
    "def later():\n    from layers.deep import Deep",
]
# The budgets of these cannot be read, which is told of what depends on the path alone.
UNREADABLE = {"layers/__init__.py": '__all__ = ["deep"]\n'}
for number, imports in enumerate(IMPORTS):
    UNREADABLE[f"more_{number}.py"] = net("More", imports, budget="about 20")
    others = imports.replace("deep", "unused")
    UNREADABLE[f"other_{number}.py"] = net("Other", others, budget="about 20")
UNREADABLE["broken.py"] = UNREADABLE["more_2.py"] + "\ndef (\n"


@pytest.fixture(scope="module")
def more(tmp_path_factory, environ):
    """The project with what the source alone tells of."""
    repository = Sample.create(tmp_path_factory.mktemp("more") / "project", environ)
    repository.committed(FILES | UNREADABLE | {"conf/wide.yaml": "10", "layers/wide.yaml": "10"})
    (repository.path / "here").symlink_to("layers")
    (repository.path / "deep.py").symlink_to("layers/deep.py")
    return repository.path


@pytest.mark.parametrize("how", ["--static", "--declared"])
def test_every_form_of_import(more, asked, how):
    report = asked(more, "layers/deep.py", how)
    assert [(finding["path"], finding["code"]) for finding in report["findings"]] == [
        ("broken.py", "NPL003"),
        *((f"more_{number}.py", "NPL002") for number in range(len(IMPORTS))),
        ("other_0.py", "NPL002"),  # it imports all
    ]


def test_links_and_directories_with_data(more, asked):
    every = 8
    # What has computed imports may depend on any source, and all on data.
    expected = {"here/deep.py": (2, 1), "deep.py": (2, 1), "conf": (0, every), "layers": (5, 3)}
    for path, numbers in expected.items():
        summary = asked(more, path, "--static")["summary"]["elsewhere"]
        assert (summary["dependent"], summary["possible"]) == numbers
        assert summary["declared"] == every


def test_an_answer_that_is_given_again(tmp_path, environ, nparam_lint, nparam_lint_process):
    """It is not what nobody knew better at first; and it rests on what models elsewhere read."""
    layer = "nn.Linear(int(open(open('name').read()).read()), 10)"
    sample = Sample.create(tmp_path / "project", environ)
    sample.committed({"net.py": net("Net", "", layer), "name": "a", "a": "10", "b": ""})
    root = sample.path
    cache = {"NPARAM_LINT_CACHE": str(tmp_path / "cache"), "NPARAM_LINT_DEVICE": "meta"}

    def ask():
        for path in (*root.rglob("*"), root):  # what has just changed is not relied upon
            os.utime(path, (1_600_000_000, 1_600_000_000))
        time.sleep(0.06)
        done = nparam_lint("b", "--format", "concise", cwd=root, **cache)
        text = nparam_lint_process("b", cwd=root, **cache).stdout
        return done.returncode, " ".join(text.split())

    code, text = ask()
    assert code == 0
    # The first of the two has built it.
    assert "Elsewhere: none of 1 declared model depends" in text
    sample.write({"b": "11", "name": "b"})
    code, text = ask()
    assert code == 1, text
    assert "depends on b" in text
