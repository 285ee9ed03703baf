"""What Python cannot import never passes in silence: files that are named or found. What imports
them is on pages/broken_imports.md."""

import re

import pytest
from case_books import cases_beside
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
