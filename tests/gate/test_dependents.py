"""A path that is given asks for the models that depend on it as well, wherever these are."""

from __future__ import annotations

import json
import os
import time

import pytest
from case_books import cases_beside
from model_source import TORCH, model_class
from sample_repository import Sample


def net(name, imports="", layer="nn.Linear(10, 10)", budget=110):
    """The source of a model with 110 parameters."""
    doc = f"nparam: {budget}" if budget else ""
    return f"{TORCH}{imports}\n" + model_class(name, f"self.a = {layer}", doc=doc)


CASES = cases_beside(__file__, "dependents")
FILES = CASES[0].values[0].head
OF_DEEP = {"nets/through.py::Through", "test_nets.py::Tested"}
OF_MIXER = OF_DEEP | {"nets/direct.py::Direct", "nets/listed.py::Listed", "nets.module::Module()"}
LAZY, DATA, ALONE = "nets/lazy.py::Lazy", "nets/data.py::Data", "nets/alone.py::Alone"
OF_DATA = {DATA: "depends on nets/data.yaml"}
EVERY = OF_MIXER | {LAZY, DATA, ALONE}


@pytest.fixture
def sample(tmp_path, environ):
    """A project that is committed, for a test to change."""
    repository = Sample.create(tmp_path / "project", environ)
    repository.committed(FILES)
    return repository


@pytest.fixture
def project(sample):
    return sample.path


@pytest.fixture(scope="module")
def built(tmp_path_factory, environ, nparam_lint):
    """A project of which everything was built before."""
    repository = Sample.create(tmp_path_factory.mktemp("built") / "project", environ)
    repository.committed(FILES)
    repository.write({"../away/data.yaml": "", "new.yaml": ""})
    assert nparam_lint("--declared", "-q", cwd=repository.path).returncode == 0
    return repository.path


@pytest.fixture
def asked(nparam_lint):
    """Asks about paths: the exit code, and for each model why it was checked."""

    def ask(root, *arguments, **more):
        done = nparam_lint(*arguments, "--format", "json", cwd=root, **more)
        assert not done.stderr, done.stderr
        report = json.loads(done.stdout)
        models = [model for model in report["models"] if model["way"] is None]
        return report, {model["target"]: model["because"] for model in models}

    return ask


def on(path, *targets):
    return dict.fromkeys(targets, f"depends on {path}")


@pytest.mark.parametrize(("book", "case"), CASES)
def test_what_depends_on_a_path(built, asked, book, case, request):
    report, models = asked(built, *case.asked.split())
    assert all(model["cached"] for model in report["models"] if model["declared"])
    numbers = (report["summary"]["elsewhere"] or {}).items()
    elsewhere = ", ".join(f"{number} {name}" for name, number in numbers) or "nothing"
    said = [f"{target}: {because or 'given'}" for target, because in models.items()]
    said.append(f"elsewhere: {elsewhere}")
    book.check(case.number, "\n".join(said), update=request.config.getoption("update"))


def test_where_nothing_is_known_what_may_depend_is_built(project, asked, tmp_path):
    cache = {"NPARAM_LINT_CACHE": str(tmp_path / "cache")}
    may = "may depend on {}: what it reads is known once it is built"
    report, models = asked(project, "layers/deep.py", "--declared", **cache)
    assert models == on("layers/deep.py", *OF_DEEP) | {LAZY: may.format("layers/deep.py")}
    assert report["summary"]["elsewhere"] == {"declared": 8, "dependent": 2, "possible": 1}
    _, models = asked(project, "layers/deep.py", "--declared", **cache)
    assert models == on("layers/deep.py", *OF_DEEP)
    _, models = asked(project, "nets/data.yaml", "--declared", **cache)
    perhaps = EVERY - OF_DEEP - {LAZY}  # those were built
    assert models == dict.fromkeys(perhaps, may.format("nets/data.yaml"))
    _, models = asked(project, "nets/data.yaml", "--declared", **cache)
    assert models == OF_DATA


def test_a_change_that_breaks_models_elsewhere(sample, project, asked, nparam_lint):
    """In the working tree, and in the index."""
    path = project / "layers" / "mixer.py"
    path.write_text(path.read_text().replace("(width, width)", "(width, width + 1)"))
    done = nparam_lint("layers/mixer.py", cwd=project)
    assert done.returncode == 1, done.stdout
    assert "    checked because Direct depends on layers/mixer.py\n" in done.stdout
    assert "elsewhere: 5 of 8 declared models depend on the given paths, 1 may\n" in done.stdout
    told = nparam_lint("layers/mixer.py", "--format", "concise", cwd=project).stdout
    assert told.count(" NPL001 ") == 6
    assert nparam_lint("nets/alone.py", cwd=project).returncode == 0
    assert asked(project, "layers/mixer.py", "--staged")[0]["findings"] == []
    sample.git("add", ".")
    report, models = asked(project, "layers/mixer.py", "--staged", "--declared")
    assert len(report["findings"]) == 6
    assert models.keys() == OF_MIXER | {LAZY}


@pytest.mark.parametrize(
    ("gone", "given", "state"),
    [
        (["rm", "-q", "layers/deep.py"], ["layers/deep.py"], "working tree"),
        (["mv", "layers/deep.py", "layers/new.py"], ["layers/deep.py", "layers/new.py"], "index"),
        (["rm", "-rq", "layers"], ["layers"], "commit"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_file_that_is_gone(sample, project, asked, gone, given, state):
    sample.git(*gone)
    if state == "working tree":
        sample.git("reset", "-q")
    if state == "commit":
        sample.git("commit", "-qm", "gone")
    report, _ = asked(project, *given, *["--staged"] * (state == "index"), "--static")
    assert report["summary"]["elsewhere"]["dependent"] == (2 if "layers/deep.py" in given else 5)


def test_what_imports_a_file_that_is_gone_is_built(project, asked):
    (project / "layers" / "deep.py").unlink()
    report, models = asked(project, "layers/deep.py", "--declared")
    assert models.keys() >= OF_DEEP
    assert {f["target"] for f in report["findings"]} == OF_DEEP


def test_a_failure_for_want_of_a_file_that_is_gone_is_not_forgotten(project, asked):
    """It was imported by a computed name, so the earlier failure alone knows what was wanted."""
    (project / "layers" / "mixer.py").unlink()
    for _ in range(2):
        report, models = asked(project, "layers/mixer.py", "--declared")
        assert LAZY in models
    assert models[LAZY] == "depends on layers/mixer"
    hints = {m["hint"] for m in report["models"] if m["target"] == LAZY}
    assert hints == {None}  # the package is not missing, and need not be installed


def test_data_that_a_model_looked_for_in_vain(project, asked):
    """It is not known from the import statements, nor by its content."""
    layer = "nn.Linear(11 if __import__('os').path.exists('wide') else 10, 10)"
    (project / "nets" / "alone.py").write_text(net("Alone", "", layer))
    assert asked(project)[0]["findings"] == []
    (project / "wide").touch()
    report, models = asked(project, "wide")
    assert models == on("wide", ALONE)
    assert [finding["code"] for finding in report["findings"]] == ["NPL001"]


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
    report, _ = asked(more, "layers/deep.py", how)
    assert [(finding["path"], finding["code"]) for finding in report["findings"]] == [
        ("broken.py", "NPL003"),
        *((f"more_{number}.py", "NPL002") for number in range(len(IMPORTS))),
        ("other_0.py", "NPL002"),  # it imports all
    ]


def test_links_and_directories_with_data(more, asked):
    every = len(EVERY)
    # What has computed imports may depend on any source, and all on data.
    expected = {"here/deep.py": (2, 1), "deep.py": (2, 1), "conf": (0, every), "layers": (5, 3)}
    for path, numbers in expected.items():
        summary = asked(more, path, "--static")[0]["summary"]["elsewhere"]
        assert (summary["dependent"], summary["possible"]) == numbers
        assert summary["declared"] == every


def test_what_a_recipe_of_the_config_imports(project, asked, tmp_path):
    recipe = '{ setup = "import layers.deep", call = "Alone()" }'
    with (project / "nparam-lint.toml").open("a") as file:
        file.write(f'[arguments]\n"nets/alone.py::Alone" = {recipe}\n')
    _, models = asked(project, "layers/deep.py", NPARAM_LINT_CACHE=str(tmp_path / "cache"))
    assert models[ALONE].startswith("may depend on layers/deep.py")


OUTSIDE = {
    "layers/mixer.py ../away/data.yaml": "data.yaml is outside the project root ",
    "../away/data.yaml": "data.yaml is outside of a project: no Python file is around it",
    "layers/never.py": "there is no file or directory layers/never.py",
    "never": "there is no file or directory never",
    "--staged new.yaml": "new.yaml is not in the index; next: git add new.yaml",
}


def test_what_is_outside_or_not_there(built, nparam_lint):
    for paths, message in OUTSIDE.items():
        done = nparam_lint(*paths.split(), cwd=built)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
    paths, message = next(iter(OUTSIDE.items()))
    done = nparam_lint(*paths.split(), "--format", "json", cwd=built)
    assert done.returncode == 2
    assert message in done.stderr


def test_nothing_depends_on_it(built, nparam_lint):
    done = nparam_lint("layers/unused.py", cwd=built)
    assert " ".join(done.stdout.split()).endswith(
        " Elsewhere: none of 8 declared models depends on the given paths."
    )


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
