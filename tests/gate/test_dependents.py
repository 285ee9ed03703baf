"""A path that is given asks for the models that depend on it as well, wherever these are."""

from __future__ import annotations

import json
import os
import time

import pytest
from model_source import TORCH, model_class
from sample_repository import Sample


def net(name, imports="", layer="nn.Linear(10, 10)", budget=110):
    """The source of a model with 110 parameters."""
    doc = f"nparam: {budget}" if budget else ""
    return f"{TORCH}{imports}\n" + model_class(name, f"self.a = {layer}", doc=doc)


WIDE = ("from layers.mixer import Mixer", "Mixer(10)")
READ = "nn.Linear(int(open(__file__[:-3] + '.yaml').read()), 10)"
FILES = {
    "layers/__init__.py": "",
    "layers/mixer.py": TORCH
    + model_class("Mixer", "self.a = nn.Linear(width, width)", takes="width"),
    "layers/deep.py": "from .mixer import Mixer as Deep\n",
    "layers/unused.py": "",
    "nets/__init__.py": "",
    "nets/direct.py": net("Direct", *WIDE),
    "nets/through.py": net("Through", "from layers import deep", "deep.Deep(10)"),
    "nets/lazy.py": net("Lazy", "", "__import__('layers.mixer').mixer.Mixer(10)"),
    "nets/data.py": net("Data", "", READ),
    "nets/data.yaml": "10",
    "nets/alone.py": net("Alone"),
    "nets/silent.py": net("Silent", *WIDE, None),
    "nets/listed.py": net("Listed", *WIDE, None),
    "nets/module.py": net("Module", *WIDE, None),
    "old/made.py": net("Made", "import layers.deep"),
    "test_nets.py": net("Tested", "from layers.deep import Deep", "Deep(10)"),
    "README.md": "# Nets\n",
    "nparam-lint.toml": """\
device = "meta"
exclude = ["old"]
[budgets]
"nets/listed.py::Listed" = 110
"nets.module::Module()" = 110
""",
}
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


ASKED = {
    "layers/mixer.py": on("layers/mixer.py", LAZY, *OF_MIXER),
    "layers/deep.py": on("layers/deep.py", *OF_DEEP),
    "layers/unused.py": {},
    "layers/__init__.py": on("layers/__init__.py", LAZY, *OF_MIXER),
    "nets/__init__.py": on("nets/__init__.py", *EVERY - {"test_nets.py::Tested"}),
    "nets/data.yaml layers/deep.py": on("layers/deep.py", *OF_DEEP) | OF_DATA,
    "README.md": {},
    "test_nets.py": {"test_nets.py::Tested": None},
    "nets/alone.py nets/data.yaml": {ALONE: None} | OF_DATA,
    "nparam-lint.toml": dict.fromkeys(EVERY, "is configured by nparam-lint.toml"),
    # A directory is named by what is in it.
    "layers README.md": on("layers/mixer.py", *OF_MIXER)
    | on("layers/deep.py", *OF_DEEP)
    | on("layers/__init__.py", LAZY),
}


@pytest.mark.parametrize(
    ("paths", "hook"), [*((paths, True) for paths in ASKED), ("layers/mixer.py", False)]
)
def test_what_depends_on_a_path(built, asked, paths, hook):
    expected = ASKED[paths]
    report, models = asked(built, *paths.split(), *["--declared"] * hook)
    found = {
        name: why for name, why in models.items() if not (name.startswith("layers") or why is None)
    }
    assert found == {name: why for name, why in expected.items() if why}
    assert {name for name, why in expected.items() if why is None} <= models.keys()
    named = sum(why is None for why in expected.values())
    assert report["summary"]["elsewhere"] == {
        "declared": len(EVERY) - named,
        "dependent": len(found),
        "possible": 0,
    }
    assert all(model["cached"] for model in report["models"] if model["declared"])


def test_the_whole_project_has_nothing_elsewhere(built, asked):
    for paths in ([], [built], ["nets", "."]):
        report, models = asked(built, *paths, "--declared")
        assert models == dict.fromkeys(EVERY)
        assert report["summary"]["elsewhere"] is None


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
    repository.write({"../away/data.yaml": "", "new.yaml": ""})
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


def test_what_is_outside_or_not_there(more, nparam_lint):
    for paths, message in OUTSIDE.items():
        done = nparam_lint(*paths.split(), cwd=more)
        assert (done.returncode, done.stdout) == (2, "")
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
