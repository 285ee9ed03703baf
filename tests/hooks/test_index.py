"""`--staged` counts what would be committed, and says what the working tree has beyond it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commits import environment, model

# One of each way to reach a file that git does not have, and two that do without it.
HEAD = "from torch import nn\n"
BODY = '''

class {name}(nn.Module):
    """nparam: 110"""

    def __init__(self):
        super().__init__()
        {first}
        self.layer = nn.Linear(10, 10)
'''


def importing(line: str, name: str = "Net", first: str = "pass") -> str:
    return HEAD + line + "\n" + BODY.format(name=name, first=first)


@pytest.fixture
def staged(nparam_lint):
    """`nparam-lint --declared --staged` in a repository: (exit code, its output). Neither the
    repository nor the working tree is changed, and nothing remains of the copy."""

    def run(sample, *options, code, cwd=None, **more):
        before = sample.state()
        done = nparam_lint(
            *("--declared", "--staged", "--format", "concise", *options),
            cwd=cwd or sample.path,
            **(sample.environ | more),
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert sample.state() == before
        assert not list(Path(sample.environ["TMPDIR"]).glob("nparam-lint-copy*"))
        assert "nparam-lint-copy" not in done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


def test_a_file_that_is_staged_in_part(repository, staged):
    both = model(10, 110, "One") + model(20, 420, "Two")
    sample = repository({"net.py": both})
    # As `git add -p` does: of two changes the second is staged.
    sample.add({"net.py": both.replace("=20", "=21")})
    sample.write({"net.py": both.replace("=10", "=11").replace("=20", "=21")})
    assert "net.py:14:16: error: NPL001" in (said := staged(sample, code=1))
    assert said.count("NPL001") == 1
    assert "462" in said
    sample.git("checkout-index", "--force", "net.py")
    sample.add({"net.py": both})
    sample.write({"net.py": both.replace("=20", "=21")})
    assert staged(sample, code=0) == ""


def test_the_settings_are_the_staged_ones_too(repository, staged):
    config = '[budgets]\n"net.py::Net" = {}\n'
    sample = repository({"net.py": model(10), "nparam-lint.toml": config.format(110)})
    sample.write({"nparam-lint.toml": config.format(111)})
    assert staged(sample, code=0) == ""
    sample.add({"nparam-lint.toml": config.format(111)})
    sample.write({"nparam-lint.toml": config.format(110)})
    assert "nparam-lint.toml:2:1: error: NPL001" in staged(sample, code=1)


def test_a_config_may_extend_one_outside_of_the_repository(repository, staged):
    config = 'extend = "{}"\n'
    sample = repository(
        {
            "net.py": model(10),
            "nparam-lint.toml": config.format("../shared.toml"),
            "own.toml": '[budgets]\n"net.py::Net" = 111\n',
        }
    )
    (sample.path.parent / "shared.toml").write_text('[budgets]\n"net.py::Net" = 110\n')
    assert staged(sample, code=0) == ""
    sample.add({"nparam-lint.toml": config.format("own.toml")})
    sample.write({"own.toml": ""})
    assert "own.toml:2:1: error: NPL001" in staged(sample, code=1)


def test_a_project_in_a_subdirectory(repository, staged):
    files = {
        "deep/project/net.py": importing("from shared import WIDTH"),
        "deep/project/shared.py": "WIDTH = 10\n",
        "deep/project/nparam-lint.toml": '[budgets]\n"net.py::Net" = "<= 110"\n',
        "other.py": model(10, 1),
    }
    sample = repository(files)
    sample.write({"deep/project/net.py": "nonsense("})
    inside = sample.path / "deep/project"
    assert staged(sample, "deep/project", code=0) == ""
    assert staged(sample, code=0, cwd=inside) == ""
    sample.git("rm", "--quiet", "--cached", "deep/project/shared.py")
    said = staged(sample, code=1, cwd=inside)
    assert (
        "net.py:6:16: error: NPL003 cannot import net.py: deep/project/shared.py is not tracked"
        in said
    )


# What imports a file that git does not have, and that file.
LACKING = {
    "plain.py": (importing("import helper"), "helper.py"),
    "pkg/member.py": (importing("from pkg import part"), "pkg/part.py"),
    "pkg/relative.py": (importing("from . import part"), "pkg/part.py"),
    "pkg/deeper.py": (importing("from .inner.thing import x"), "pkg/inner/thing.py"),
    "folder.py": (importing("import spaces.thing"), "spaces/thing.py"),
    "script.py": (
        importing("import argparse, helper\nargparse.ArgumentParser().parse_args()"),
        "helper.py",
    ),
}
# What does without it.
OPTIONAL = {
    "optional.py": importing("try:\n    import helper\nexcept ImportError:\n    helper = None"),
    "asks.py": importing(
        "import importlib.util\nHERE = importlib.util.find_spec('helper') is not None"
    ),
}
NAMES = "pkg/names.py"


def test_what_a_commit_would_lack_is_named(repository, staged):
    others = {
        "pkg/__init__.py": "",
        "late.py": importing("", first="import helper"),
        "reads.py": importing("", first="open('conf/a b.yaml').read()"),
        "misses.py": importing("from pkg.names import new", first="new"),
        NAMES: "old = 1\n",
    }
    sample = repository({name: text for name, (text, _) in LACKING.items()} | OPTIONAL | others)
    untracked = dict.fromkeys([*(file for _, file in LACKING.values()), "conf/a b.yaml"], "x = 1\n")
    sample.write(untracked | {NAMES: "old = new = 1\n"})
    report = json.loads(staged(sample, "--format", "json", code=1))
    measured = {m["path"] for m in report["models"] if m["status"] == "measured"}
    assert measured == {*OPTIONAL}
    failed = {m["path"]: m["reason"] for m in report["models"] if m["status"] != "measured"}
    assert failed.pop("reads.py").startswith("Net() raised FileNotFoundError")
    missing = f"cannot import name 'new' from 'pkg.names' ({sample.path}/{NAMES})"
    assert missing in failed.pop("misses.py")
    no = "{0} is not tracked by git; next: git add {0}".format
    late = {"late.py": "Net() needs a file that git does not have: " + no("helper.py")}
    assert failed == late | {
        name: f"cannot import {name}: {no(file)}" for name, (_, file) in LACKING.items()
    }
    text = staged(sample, "--format", "text", code=1)
    assert "    conf/a b.yaml is not tracked by git; next: git add 'conf/a b.yaml'\n" in text
    assert f"    {NAMES} has changes that are not staged; next: git add {NAMES}\n" in text
    sample.git("add", "--all")
    assert staged(sample, code=0) == ""


FINDER = """\
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path

MAPPING = {mapping!r}


class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        for name, place in MAPPING.items():
            if fullname == name or fullname.startswith(f"{{name}}."):
                rest = fullname[len(name) :].replace(".", "/")
                for file in (f"{{place}}{{rest}}/__init__.py", f"{{place}}{{rest}}.py"):
                    if Path(file).exists():
                        return spec_from_file_location(fullname, file)


def install():
    sys.meta_path.append(_EditableFinder)
"""


@pytest.mark.parametrize("kind", [pytest.param("path", marks=pytest.mark.thorough), "finder"])
def test_an_editable_install_leads_into_what_is_staged(repository, staged, tmp_path, kind):
    # Nothing in the source says where it would be, without the installation.
    dynamic = "import importlib\nWIDTH = importlib.import_module('wi' + 'de.layers').WIDTH"
    sample = repository(
        {
            "net.py": importing(dynamic, first="assert WIDTH == 10"),
            "lib/wide/__init__.py": "",
            "lib/wide/layers.py": "from wide.reading import WIDTH\n",
            "lib/wide/reading.py": "from pathlib import Path\n"
            "WIDTH = int(Path(__file__).with_name('width.txt').read_text())\n",
            "lib/wide/width.txt": "10",
        },
        *(["l'été à Paris"] if kind == "path" else []),  # no line end: `.pth` has lines
    )
    sample.write({"lib/wide/width.txt": "11"})
    lib = sample.path / "lib"
    if kind == "path":
        installed = {"wide.pth": f"{lib}\n"}
    else:
        installed = {
            "wide.pth": "import __editable___wide_finder as f; f.install()\n",
            "__editable___wide_finder.py": FINDER.format(mapping={"wide": str(lib / "wide")}),
        }
    python = environment(tmp_path / "environment", **installed) / "bin/python"
    more = {"NPARAM_LINT_PYTHON": str(python)}
    assert staged(sample, code=0, **more) == ""
    sample.git("rm", "--quiet", "--cached", "lib/wide/layers.py")
    said = staged(sample, code=1, **more)
    assert said == (
        "net.py:7:16: error: NPL003 cannot import net.py: lib/wide/layers.py is not tracked by git"
        "; next: git add lib/wide/layers.py\n"
    )


@pytest.mark.thorough
def test_a_path_that_is_written_out_leads_into_what_is_staged(repository, staged):
    sample = repository({"layers.py": "WIDTH = 10\n"})
    spec = (
        "import importlib.util\n"
        f"place = {str(sample.path)!r} + '/layers.py'\n"
        "spec = importlib.util.spec_from_file_location('layers', place)\n"
        "layers = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(layers)"
    )
    sample.add({"net.py": importing(spec, first="assert layers.WIDTH == 10")})
    sample.write({"layers.py": "WIDTH = 11\n"})
    assert staged(sample, code=0) == ""
    sample.git("rm", "--quiet", "--cached", "layers.py")
    assert "layers.py is not tracked by git" in staged(sample, code=1)


WHOLE_PATH = importing(
    "import json, os\nfrom pathlib import Path\n"
    "TOP = next(p for p in Path(__file__).resolve().parents if (p / '.git').exists())\n"
    "WIDTH = json.load(open(os.path.join({top}, 'width.json')))['w']",
    first="self.first = nn.Linear(WIDTH, 1, bias=False)",
)


@pytest.mark.parametrize("top", ["TOP", "os.environ['PROJECT_ROOT']"])
def test_a_file_is_read_as_it_is_staged_or_not_at_all(repository, staged, top):
    source = WHOLE_PATH.replace("{top}", top).replace("nparam: 110", "nparam: 120")
    sample = repository({"net.py": source, "width.json": '{"w": 10}'})
    more = {"PROJECT_ROOT": str(sample.path)}
    assert staged(sample, code=0, **more) == ""
    sample.add({"width.json": '{"w": 11}'})
    sample.write({"width.json": '{"w": 10}'})
    said = " ".join(staged(sample, code=1, **more).split())
    assert ("Net has 121 parameters" in said) == (top == "TOP")
    assert ("which is not as in the commit" in said) == (top != "TOP")


def test_what_git_ignores_is_there(repository, staged):
    sample = repository(
        {
            ".gitignore": "_version.py\ndata/\n",
            "pkg/__init__.py": "from pkg._version import version\n",
            "pkg/net.py": importing("", first="assert open('data/x.txt').read() == '1'"),
        }
    )
    sample.write({"pkg/_version.py": "version = 1\n", "data/x.txt": "1"})
    assert staged(sample, code=0) == ""


def test_no_message_has_a_path_of_the_copy(repository, staged):
    sample = repository(
        {
            "file.py": importing("", first="raise ValueError(__file__)"),
            "long.py": importing("", first="raise ValueError('x' * 480 + __file__)"),
            "trace.py": importing(
                "import traceback",
                first="raise ValueError(''.join(traceback.format_stack(limit=1)))",
            ),
            "dies.py": importing(
                "import os, sys", first="print(__file__, file=sys.stderr, flush=True); os._exit(3)"
            ),
            "floods.py": importing(
                "import os", first="print(__file__ * 200, flush=True); os._exit(3)"
            ),
            "crashes.py": importing("import ctypes", first="ctypes.string_at(0)"),
            "writes.py": importing("", first="open(__file__ + '.out', 'w')"),
            "syntax.py": importing("", first="compile('(', __file__, 'exec')"),
            "warns.py": importing("", first="raise OSError(2, 'gone', __file__)"),
        }
    )
    report = json.loads(staged(sample, "--format", "json", code=1))
    reasons = {model["path"]: model["reason"] for model in report["models"]}
    assert reasons["file.py"] == f"Net() raised ValueError: {sample.path}/file.py"
    assert reasons["warns.py"].endswith(
        f"FileNotFoundError: [Errno 2] gone: '{sample.path}/warns.py'"
    )
    assert f'File "{sample.path}/trace.py"' in reasons["trace.py"]
    assert "nparam-lint refused to write" in reasons["writes.py"]
    assert "was killed by SIGSEGV" in reasons["crashes.py"]
    text = staged(sample, "--format", "text", code=1)
    printed = f"{sample.path}/dies.py".replace("\n", "\n    | ")
    assert f"    | {printed}\n" in text
    assert "    at crashes.py:10 in __init__\n" in text


ASKED = {
    "new.py": "nparam-lint: new.py is not in the index; next: git add new.py\n",
    "a b/new.py": "nparam-lint: a b/new.py is not in the index; next: git add 'a b/new.py'\n",
    "gone.py": "nparam-lint: there is no file or directory gone.py\n",
    "/": "nparam-lint: / is not in a git repository: fatal: not a git repository",
    "net.py:/": "nparam-lint: / is outside of the repository at {}\n",
    "--config:new.toml": "nparam-lint: new.toml is not in the index; next: git add new",
    "--config:gone.toml": "nparam-lint: there is no file or directory gone.toml\n",
}


def test_a_question_about_what_is_not_staged_exits_with_2(repository, staged):
    sample = repository({"net.py": model(10, 110)})
    sample.write({"new.py": "", "a b/new.py": "", "new.toml": ""})
    for arguments, message in ASKED.items():
        told = staged(sample, *arguments.split(":"), code=2)
        assert told.startswith(message.format(sample.path))


def test_a_directory_without_tracked_files_is_a_place_to_ask_from(repository, staged):
    sample = repository({"net.py": model(10, 111)})
    (sample.path / "build").mkdir()
    assert "net.py:5:16: error: NPL001" in staged(sample, code=1, cwd=sample.path / "build")


def test_outside_of_a_repository(nparam_lint, tmp_path):
    done = nparam_lint("--staged", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"nparam-lint: {tmp_path} is not in a git repository: ")


def test_a_file_that_was_deleted_without_staging_is_judged(repository, staged):
    sample = repository({"nets/net.py": model(10, 111)})
    sample.write({"nets/net.py": None})
    (sample.path / "nets").rmdir()
    assert "nets/net.py:5:16: error: NPL001" in staged(sample, "nets/net.py", code=1)


def test_source_alone_is_judged_as_it_is_staged(repository, staged):
    sample = repository({"net.py": model(10, "12 apples")})
    sample.write({"net.py": model(10, 110)})
    assert "net.py:5:16: error: NPL002" in staged(
        sample, "--static", code=1, NPARAM_LINT_PYTHON="/gone"
    )
