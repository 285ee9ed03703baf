"""What Python cannot import never passes in silence: files that are named, found or imported."""

import re

import pytest
from case_books import cases_beside
from model_source import TORCH, model_class
from sample_files import write_files

# What a file holds, and the line at which Python gives up. May only grow.
BROKEN = {
    b"class M(:\n": 1,
    b"import torch\nx = (\n": 2,
    b"from torch import nn\nclass M(nn.Module:\n    '''nparam: 3'''\n": 2,
    b"def f(:\n": 1,
    b"x = 1\n  y = 2\n": 2,  # IndentationError
    b"if x:\n\ty\n        z\n": 3,  # TabError
    b"x = 'a\n": 1,
    b"'''\n": 1,
    b"x = 1\nreturn\n": 2,  # what has a tree and no code
    b"break\n": 1,
    b"def f(a, a): pass\n": 1,
    b"x = 1\nfrom __future__ import annotations\n": 2,
    b"from __future__ import teleport\n": 1,
    b"def f():\n    from os import *\n": 2,
    b"def f():\n    x = 1\n    global x\n": 3,
    b"nonlocal x\n": 1,
    b"await x\n": 1,
    b"print 'a'\n": 1,
    b"x = 1\ny = \0\n": 2,
    b"x = 1\ny = '\xff'\n": 2,
    b"x = 1\ny = 2\nz = '\xff'\n": 3,
    b"\xef\xbb\xbfx = '\xff'\n": 1,
    b"# coding: klingon\n": 1,
    b"# coding: undefined\n": 1,
    b"# coding: rot13\n": 1,
    b"# coding: utf-7\nx = '+2AA-'\n": 1,  # half of a surrogate pair
    b"x = " + b"(" * 500: 1,
    b"x = " + b"-" * 100_000 + b"1\n": 1,
    b"<<<<<<< ours\nclass A: pass\n=======\n": 1,
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    place = tmp_path_factory.mktemp("broken")
    for number, source in enumerate(BROKEN):
        (place / f"m{number}.py").write_bytes(source)
    return place


@pytest.mark.parametrize("how", [(), ("--static",), ("--declared",), ("--static", "--declared")])
def test_a_file_that_is_named_and_cannot_be_parsed_is_an_error(nparam_lint, broken, how):
    names = [f"m{number}.py" for number in range(len(BROKEN))]
    done = nparam_lint(*names, *how, "--format", "concise", cwd=broken)
    assert done.returncode == 1
    # The columns are not the same in all versions of Python.
    told = re.findall(r"^(\w+\.py):(\d+):[1-9]\d*: error: NPL003 ", done.stdout, re.MULTILINE)
    assert dict(told) == {n: str(line) for n, line in zip(names, BROKEN.values(), strict=True)}


def test_one_that_is_named_is_told_with_the_next_step(nparam_lint, broken):
    done = nparam_lint("m0.py", "--static", cwd=broken)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [
        "m0.py:1:9  NPL003  cannot be parsed: invalid syntax",
        "    nothing in it was checked; next: fix it, or `exclude` it in the config",
    ]


# --- files that are found ---

NET = TORCH + model_class("Net", "self.layer = nn.Linear(3, 3)", doc="nparam: 12")


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "broken"))
def test_a_file_that_is_found_and_cannot_be_parsed(nparam_lint, tmp_path, book, case, request):
    write_files(tmp_path, {path: content.decode() for path, content in case.files.items()})
    told = []
    for more in ([], ["--declared"]):
        done = nparam_lint("--static", *more, "--format", "concise", cwd=tmp_path)
        lines = [line for line in done.stdout.splitlines() if "NPL003" in line]
        assert done.returncode == bool(lines)
        told.append(", ".join(line.split(":")[0] for line in lines) or "none")
    said = told[0] if told[0] == told[1] else "{}; declared: {}".format(*told)
    book.check(case.number, said, update=request.config.getoption("update"))


# --- models that import one ---

IMPORTS = {  # how a file imports `broken`, in which Python finds a syntax error
    "plain": "import broken",
    "name": "from broken import x",
    "star": "from broken import *",
    "by_function": "from importlib import import_module\nimport_module('broken')",
    "behind": "import plain_helper",
    "no_code": "import no_code_helper",
    "nulls": "import nulls_helper",
    "undecoded": "import undecoded_helper",
    "too_deep": "import too_deep_helper",
    "as_a_script": "import broken\nfor x in range(3):\n    print(input())",
}
IMPORTS_WELL = {  # and what Python imports all the same
    "caught": "try:\n    import broken\nexcept SyntaxError:\n    broken = None",
    "never": "if 1 == 2:\n    import broken",
    "evaluates": "try:\n    eval('(')\nexcept SyntaxError:\n    pass",
    "deep_but_right": "import deep_helper",
}
HELPERS = {
    "broken": b"x = (\n",
    "plain_helper": b"import broken\n",
    "no_code_helper": b"x = 1\nreturn\n",
    "nulls_helper": b"x = 1 \0\n",
    "undecoded_helper": b"x = '\xff'\n",
    "too_deep_helper": b"x = " + b"-" * 100_000 + b"1\n",
    "deep_helper": b"x = 0\n" + b"if x: pass\n" + b"elif x: pass\n" * 150,
}


@pytest.fixture(scope="module")
def importers(nparam_lint, tmp_path_factory):
    """The lines of one run on models that import what is broken."""
    place = tmp_path_factory.mktemp("importers")
    for name, source in HELPERS.items():
        (place / f"{name}.py").write_bytes(source)
    write_files(place, {f"{n}.py": f"{s}\n{NET}" for n, s in (IMPORTS | IMPORTS_WELL).items()})
    done = nparam_lint("--declared", "--format", "concise", cwd=place)
    assert done.returncode == 1
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", IMPORTS)
def test_a_model_is_not_counted_where_python_cannot_import_its_file(importers, name):
    (line,) = [line for line in importers if line.startswith(f"{name}.py:")]
    assert "NPL003" in line
    assert f"cannot import {name}.py: " in line


@pytest.mark.parametrize("name", IMPORTS_WELL)
def test_it_is_counted_where_python_does(importers, name):
    assert not [line for line in importers if line.startswith(f"{name}.py:")]
