"""`--staged` counts what would be committed, and says what the working tree has beyond it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commits import environment, model

HEAD = "from torch import nn\n"
BODY = '''

class Net(nn.Module):
    """nparam: 110"""

    def __init__(self):
        super().__init__()
        {first}
        self.layer = nn.Linear(10, 10)
'''


def importing(line: str, first: str = "pass") -> str:
    return HEAD + line + "\n" + BODY.format(first=first)


@pytest.fixture
def staged(nparam_lint):
    """`nparam-lint --declared --staged` in a repository: its output. Neither the repository nor the
    working tree is changed, and nothing remains of the copy."""

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


def places(said):
    """Where the findings of the concise format are, with their codes."""
    return [line.split(" ")[0] + line.partition("error:")[2][:7] for line in said.splitlines()]


BOTH = model(10, 110, "One") + model(20, 420, "Two")
BUDGET = '[budgets]\n"plain.py::Net" = {}\n'


def test_what_is_staged_is_judged_whatever_the_working_tree_holds(repository, staged):
    """Of two changes in a file one, as `git add -p` does it; the settings; a file that is gone."""
    files = {"two.py": BOTH, "plain.py": model(10), "nparam-lint.toml": BUDGET.format(110)}
    files |= {"gone/net.py": model(10, 110)}
    sample = repository(files)
    half = BOTH.replace("=20", "=21")
    sample.add({"two.py": half, "nparam-lint.toml": BUDGET.format(111)})
    sample.add({"gone/net.py": model(10, 111)})
    sample.write(files | {"two.py": half.replace("=10", "=11"), "gone/net.py": None})
    (sample.path / "gone").rmdir()
    (sample.path / "build").mkdir()  # without tracked files, and a place to ask from
    for place in (sample.path, sample.path / "build"):
        assert places(staged(sample, code=1, cwd=place)) == [
            "gone/net.py:5:16: NPL001",
            "nparam-lint.toml:2:1: NPL001",
            "two.py:14:16: NPL001",
        ]
    assert places(staged(sample, "gone/net.py", code=1)) == ["gone/net.py:5:16: NPL001"]
    sample.add({"two.py": model(10, "12 apples")})
    sample.write({"two.py": BOTH})
    said = staged(sample, "two.py", "--static", code=1, NPARAM_LINT_PYTHON="/gone")
    assert places(said) == ["two.py:5:16: NPL002"]
    sample.add(files)
    sample.write({"two.py": half, "nparam-lint.toml": BUDGET.format(111)})
    assert staged(sample, code=0) == ""


def test_a_project_in_a_subdirectory_whose_config_extends_others(repository, staged):
    config = 'extend = "{}"\n'
    sample = repository(
        {
            "deep/project/net.py": importing("from shared import WIDTH"),
            "deep/project/shared.py": "WIDTH = 10\n",
            "deep/project/nparam-lint.toml": config.format("../../../outside.toml"),
            "deep/project/own.toml": '[budgets]\n"net.py::Net" = 111\n',
            "other.py": model(10, 1),
        }
    )
    (sample.path.parent / "outside.toml").write_text('[budgets]\n"net.py::Net" = "<= 110"\n')
    sample.write({"deep/project/net.py": "nonsense("})
    inside = sample.path / "deep/project"
    assert staged(sample, "deep/project", code=0) == ""
    assert staged(sample, code=0, cwd=inside) == ""
    sample.add({"deep/project/nparam-lint.toml": config.format("own.toml")})
    sample.write({"deep/project/own.toml": ""})
    assert places(staged(sample, code=1, cwd=inside)) == ["own.toml:2:1: NPL001"]
    sample.git("rm", "--quiet", "--cached", "deep/project/shared.py")
    lacking = "NPL003 cannot import net.py: deep/project/shared.py is not tracked"
    assert f"net.py:6:16: error: {lacking}" in staged(sample, code=1, cwd=inside)


# What imports a file that git does not have, and that file: one of each way to reach it.
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
# What does without it, and what needs only what git ignores.
MEASURED = {
    "optional.py": importing("try:\n    import helper\nexcept ImportError:\n    helper = None"),
    "asks.py": importing(
        "import importlib.util\nHERE = importlib.util.find_spec('helper') is not None"
    ),
    "ignored.py": importing(
        "from pkg._version import version", first="assert open('data/x.txt').read() == '1'"
    ),
}
NAMES = "pkg/names.py"


def test_what_a_commit_would_lack_is_named(repository, staged, nparam_lint):
    """Also by a worker that has built what is in a working tree before."""
    others = {
        ".gitignore": "_version.py\ndata/\n",
        "pkg/__init__.py": "",
        "late.py": importing("", first="import helper"),
        "reads.py": importing("", first="open('conf/a b.yaml').read()"),
        "misses.py": importing("from pkg.names import new", first="new"),
        NAMES: "old = 1\n",
    }
    sample = repository({name: text for name, (text, _) in LACKING.items()} | MEASURED | others)
    untracked = dict.fromkeys([*(file for _, file in LACKING.values()), "conf/a b.yaml"], "x = 1\n")
    sample.write(untracked | {NAMES: "old = new = 1\n"})
    sample.write({"pkg/_version.py": "version = 1\n", "data/x.txt": "1"})
    assert nparam_lint("optional.py", cwd=sample.path, **sample.environ).returncode == 0
    report = json.loads(staged(sample, "--format", "json", code=1))
    measured = {m["path"] for m in report["models"] if m["status"] == "measured"}
    assert measured == {*MEASURED}
    failed = {m["path"]: m["reason"] for m in report["models"] if m["status"] != "measured"}
    assert failed.pop("reads.py").startswith("Net() raised FileNotFoundError")
    missing = f"cannot import name 'new' from 'pkg.names' ({sample.path}/{NAMES})"
    assert missing in failed.pop("misses.py")
    no = "{0} is not tracked by git; next: git add :/{0}".format
    late = {"late.py": "Net() needs a file that git does not have: " + no("helper.py")}
    assert failed == late | {
        name: f"cannot import {name}: {no(file)}" for name, (_, file) in LACKING.items()
    }
    text = staged(sample, "--format", "text", code=1)
    assert "    conf/a b.yaml is not tracked by git; next: git add ':/conf/a b.yaml'\n" in text
    assert f"    {NAMES} has changes that are not staged; next: git add :/{NAMES}\n" in text
    sample.git("add", "--all")
    assert staged(sample, code=0) == ""


def test_a_file_that_is_written_then_added_then_gone(repository, staged):
    """What is remembered of a model rests on what git lacks, too; and of one model alone, whose
    import fails, no other tells what was looked for."""
    sample = repository(
        {"net.py": importing("from helper import width", first="assert width == 10")}
    )
    no = "cannot import net.py: helper.py is not tracked by git; next: git add :/helper.py"
    for _ in range(2):
        assert "No module named 'helper'" in staged(sample, code=1)
        sample.write({"helper.py": "width = 10\n"})
        assert no in staged(sample, code=1)
        sample.add({"helper.py": "width = 10\n"})
        assert staged(sample, code=0) == ""
        sample.git("rm", "--quiet", "--cached", "helper.py")
        assert no in staged(sample, code=1)
        sample.write({"helper.py": None})


FINDER = """\
import sys
from importlib.util import spec_from_file_location
from pathlib import Path

PLACE = {place!r}


class _EditableFinder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] == "found":
            rest = fullname.removeprefix("found").replace(".", "/")
            for file in (f"{{PLACE}}{{rest}}/__init__.py", f"{{PLACE}}{{rest}}.py"):
                if Path(file).exists():
                    return spec_from_file_location(fullname, file)


def install():
    sys.meta_path.append(_EditableFinder)
"""


def test_an_editable_install_leads_into_what_is_staged(repository, staged, tmp_path):
    """By a folder on the path, and by a finder."""
    files = {}
    for name in ("wide", "found"):
        # Nothing in the source says where it would be, without the installation.
        halves = f"'{name[:2]}' + '{name[2:]}.layers'"
        dynamic = f"import importlib\nWIDTH = importlib.import_module({halves}).WIDTH"
        files |= {
            f"net_{name}.py": importing(dynamic, first="assert WIDTH == 10"),
            f"lib/{name}/__init__.py": "",
            f"lib/{name}/layers.py": f"from {name}.reading import WIDTH\n",
            f"lib/{name}/reading.py": "from pathlib import Path\n"
            "WIDTH = int(Path(__file__).with_name('width.txt').read_text())\n",
            f"lib/{name}/width.txt": "10",
        }
    sample = repository(files, "l'été à Paris")  # no line end: `.pth` has lines
    sample.write({"lib/wide/width.txt": "11", "lib/found/width.txt": "11"})
    python = environment(
        tmp_path / "environment",
        **{
            "wide.pth": f"{sample.path / 'lib'}\n",
            "found.pth": "import __editable___found_finder as f; f.install()\n",
            "__editable___found_finder.py": FINDER.format(place=str(sample.path / "lib/found")),
        },
    )
    more = {"NPARAM_LINT_PYTHON": str(python / "bin/python")}
    assert staged(sample, code=0, **more) == ""
    sample.git("rm", "--quiet", "--cached", "lib/wide/layers.py", "lib/found/layers.py")
    assert staged(sample, code=1, **more) == "".join(
        f"net_{name}.py:7:16: error: NPL003 cannot import net_{name}.py: lib/{name}/layers.py "
        f"is not tracked by git; next: git add :/lib/{name}/layers.py\n"
        for name in ("found", "wide")
    )


WHOLE_PATH = importing(
    "import importlib.util, json, os\nfrom pathlib import Path\n"
    "TOP = next(p for p in Path(__file__).resolve().parents if (p / '.git').exists())\n"
    "WIDTH = {width}",
    first="self.first = nn.Linear(WIDTH, 1, bias=False)",
).replace("nparam: 110", "nparam: 120")
READ = "json.load(open(os.path.join({}, 'width.json')))['w']"
SPEC = """0
spec = importlib.util.spec_from_file_location('layers', {} + '/layers.py')
layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layers)
WIDTH = layers.WIDTH"""


def test_a_file_is_read_as_it_is_staged_or_not_at_all(repository, staged):
    """Whichever way its path is found: from the model's own, or written out."""
    sample = repository({"width.json": '{"w": 10}', "layers.py": "WIDTH = 10\n"})
    ways = {
        "above.py": READ.format("TOP"),
        "environ.py": READ.format("os.environ['PROJECT_ROOT']"),
        "spec.py": SPEC.format(repr(str(sample.path))),
    }
    sample.add({name: WHOLE_PATH.replace("{width}", way) for name, way in ways.items()})
    more = {"PROJECT_ROOT": str(sample.path)}
    assert staged(sample, code=0, **more) == ""
    sample.add({"width.json": '{"w": 11}', "layers.py": "WIDTH = 11\n"})
    sample.write({"width.json": '{"w": 10}', "layers.py": "WIDTH = 10\n"})
    above, environ, spec = staged(sample, code=1, **more).splitlines()
    assert "Net has 121 parameters" in above
    assert "which is not as in the commit" in environ
    assert "Net has 121 parameters" in spec
    sample.git("rm", "--quiet", "--force", "layers.py")
    sample.write({"layers.py": ""})
    assert "layers.py is not tracked by git" in staged(sample, "spec.py", code=1, **more)


def test_no_message_has_a_path_of_the_copy(repository, staged):
    ends = {
        "file.py": "raise ValueError(__file__)",
        "long.py": "raise ValueError('x' * 480 + __file__)",
        "trace.py": "import traceback; raise ValueError(''.join(traceback.format_stack(limit=1)))",
        "dies.py": "import os, sys; print(__file__, file=sys.stderr, flush=True); os._exit(3)",
        "floods.py": "import os; print(__file__ * 200, flush=True); os._exit(3)",
        "crashes.py": "import ctypes; ctypes.string_at(0)",
        "writes.py": "open(__file__ + '.out', 'w')",
        "syntax.py": "compile('(', __file__, 'exec')",
        "warns.py": "raise OSError(2, 'gone', __file__)",
    }
    sample = repository({name: importing("", first=end) for name, end in ends.items()})
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
    outside = staged(sample, code=2, cwd=sample.path.parent)
    assert outside.startswith(f"nparam-lint: {sample.path.parent} is not in a git repository: ")


LAYERS = (
    HEAD
    + """\
class Wide(nn.Linear):
    def __init__(self, width):
        super().__init__(width, {factor} * width)
"""
)
LAYERED = importing("from layers.parts import Wide").replace("nn.Linear(10, 10)", "Wide(10)")
READING = importing("from pathlib import Path").replace(
    "nn.Linear(10, 10)", "nn.Linear(int(Path(__file__).with_name('width').read_text()), 10)"
)
KEYS = ("config/net", "deleted/net", "renamed/net", "class/nets")


def test_whatever_breaks_a_budget_is_found_and_holds_once_it_is_mended(repository, staged):
    def config(budget):
        return "[budgets]\n" + "".join(f'"{key}.py::Net" = {budget}\n' for key in KEYS)

    kept = {f"{key}.py": model(10) for key in KEYS[:3]} | {
        "nparam-lint.toml": config(110),
        "class/nets.py": model(10) + model(20, name="Other"),
        "layers/net.py": LAYERED,
        "layers/parts.py": LAYERS.format(factor=1),
        "reads/net.py": READING,
        "reads/width": "10",
        "docstring/net.py": model(10, 111),
    }
    sample = repository(kept)
    sample.git("rm", "--quiet", "deleted/net.py")
    sample.git("rm", "--quiet", "docstring/net.py")  # its budget goes with it
    sample.git("mv", "renamed/net.py", "renamed/nets.py")
    sample.add(
        {
            "nparam-lint.toml": config(110).replace("110", "111", 1),
            "class/nets.py": model(20, name="Other"),
            "layers/parts.py": LAYERS.format(factor=2),
            "reads/width": "11",
        }
    )
    said = staged(sample, code=1)
    assert places(said) == [
        "layers/net.py:6:16: NPL001",
        *("nparam-lint.toml:2:1: NPL001", "nparam-lint.toml:3:1: NPL008"),
        *("nparam-lint.toml:4:1: NPL008", "nparam-lint.toml:5:1: NPL008"),
        "reads/net.py:6:16: NPL001",
    ]
    for part in (
        "there is no file deleted/net.py",
        "there is no file renamed/net.py; did you mean renamed/nets.py?",
        "class/nets.py has no 'Net'",
    ):
        assert part in said
    sample.git("mv", "renamed/nets.py", "renamed/net.py")
    del kept["docstring/net.py"]
    sample.add(kept)
    assert staged(sample, code=0) == ""
