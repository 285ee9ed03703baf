"""`--staged` counts what would be committed, whichever way it is found, and names no place of the
copy. What it says of the index and of what git lacks is on pages/staged.md, lacking.md and
breaking.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commits import environment

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
