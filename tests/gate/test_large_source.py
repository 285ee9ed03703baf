"""Reading is linear, and within the limits of size and time: what is too much is told of."""

import time

import pytest
from model_source import TORCH, model_class

NET = TORCH + model_class("Net", "self.layer = nn.Linear(10, 10)", doc="A net.{more}    ")
BUDGET = "\n\n    nparam: 110\n"


def plain(text):
    return said("") + text


def said(text):
    return NET.format(more=BUDGET + text)


# Sources that take minutes or gigabytes where anything grows faster than they do. May only grow.
LARGE = {
    "long line": plain('x = "' + "a" * 250_000 + '"\n'),
    "names": plain("x" * 250_000 + "\n"),
    "fields": plain('x = f"' + "{a}" * 300_000 + '"\n'),
    "brackets": plain("x = " + "[" * 100_000 + "]" * 100_000 + "\n"),
    "blank lines": plain("\n" * 200_000 + "x = (\n"),
    "open imports": plain("x = '''\n" + "from m import (\n" * 30_000 + "'''\n"),
    "comments": plain("# nparam: ignore[NPL101]\nx = '''\n" + "\n" * 300_000 + "'''\n"),
    "open budget": said("    nparam(a=(\n" + "        1,\n" * 30_000),
    "escapes": said("\\t\n" * 30_000),
    "chain": plain("class N0(Net): pass\n")
    + "".join(f"class N{n}(N{n - 1}): pass\n" for n in range(1, 3000)),
    "heirs": plain("class N0(Net): pass\n")
    + "".join(f"class N{n}(N{n - 1}): pass\n" for n in range(1, 300))
    + "".join(f"class H{n}(N299): pass\n" for n in range(20_000)),
    "no super": plain("")
    + "".join(
        f"class N{n}(nn.Module):\n    def __init__(self):\n        self.x = nn.Linear(1, 1)\n"
        for n in range(3000)
    ),
    "layers": plain("".join(f"        self.l{n} = nn.Linear(1, 1)\n" for n in range(10_000))),
}


AT_NIGHT = ("heirs", "no super", "escapes")


@pytest.mark.first_cases(5)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.thorough) if n in AT_NIGHT else n for n in LARGE]
)
def test_reading_is_linear(nparam_lint, tmp_path, name):
    (tmp_path / "m.py").write_text(LARGE[name])
    before = time.process_time()
    done = nparam_lint("--static", "--no-cache", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    assert time.process_time() - before < 15  # each would take longer than a minute


SIZE = "NPL003 is skipped: it has 1.2 MB; files of more than 1 MB are not read"
# Files that are too large, and whether that is told of.
TOO_LARGE = {
    "declared": (plain("x = 1\n" * 200_000), True),
    "undeclared": (NET.format(more="\n") + "x = 1\n" * 200_000, True),
    "unlike": ("x = 1\n" * 200_000, False),  # no model
}


@pytest.mark.parametrize("how", ["--static", "--declared", "--no-cache"])
def test_a_file_that_is_too_large_is_told_of(nparam_lint, tmp_path, how):
    for name, (source, _) in TOO_LARGE.items():
        (tmp_path / f"{name}.py").write_text(source)
    done = nparam_lint(how, "--format", "concise", cwd=tmp_path)
    assert done.returncode == 1
    found = {line.partition(".py")[0] for line in done.stdout.splitlines() if SIZE in line}
    # Without the word it is not looked at, whatever its size.
    left_out = {"undeclared"} if how == "--declared" else set()
    assert found == {name for name, (_, is_told) in TOO_LARGE.items() if is_told} - left_out
    done = nparam_lint("unlike.py", how, "--format", "concise", cwd=tmp_path)
    assert (done.returncode, SIZE in done.stdout) == (1, True)  # one that is named


# What takes long to read, in one way or another.
SLOW = {"source": LARGE["layers"], "docstring": said("    nparam: 110\n" * 20_000)}


# hypothesis has a callback of the garbage collector, in which the signal may come.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", SLOW)
def test_the_time_limit_covers_reading(nparam_lint, tmp_path, name):
    (tmp_path / "m.py").write_text(SLOW[name])
    options = ("--static", "--no-cache", "--timeout", "0.1", "--format", "concise")
    done = nparam_lint(*options, cwd=tmp_path)
    assert done.returncode == 1
    assert "NPL003" in done.stdout
    assert "took longer than the 0.1 s of --timeout" in done.stdout
