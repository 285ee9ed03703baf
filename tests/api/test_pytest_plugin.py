"""`pytest --nparam` as a user meets it: real runs of pytest, on projects made here."""

import os
import re
import signal
import subprocess
import sys
import uuid
from functools import partial
from pathlib import Path
from textwrap import dedent
from xml.etree import ElementTree

import pytest
from inner_pytest import run_pytest
from processes import has_reader, marked, reading, wait_until
from sample_files import write_files
from sample_repository import Sample

MODELS = '''\
from torch import nn


class Right(nn.Module):
    """A net of ~5K parameters; \\d is no escape.

    nparam: 40
    nparam[layers.*]: 20
    nparam: 40
    """

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))


class Drifted(nn.Module):
    """nparam: 100"""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(10, 10)
        self.second = nn.Linear(10, 1)


class Needs(nn.Module):
    """nparam: 12
    nparam: about twelve
    nparam[trainable]: 12 * width + depth + 0 * (width + depth + width)
    """

    def __init__(self, width, depth):
        super().__init__()


class Silenced(Right):
    """nparam: 12"""  # nparam: ignore[NPL001]


class Unknown(Right):
    """nparam[head]: 12"""
'''
QUIET = '''\
from model import Needs, Right


class Warned(Right):
    """nparam: 12"""


class WarnedToo(Needs):
    """nparam: 12"""
'''
CONFIG = """\
[budgets]
"model.py::Gone" = 12

[[overrides]]
files = ["quiet.py"]
severity = { NPL001 = "warning", NPL004 = "warning" }
"""
STRICT = """\
[pytest]
filterwarnings = error
addopts = --strict-markers --strict-config
"""
TESTS = """\
def test_that_holds():
    pass


def test_that_does_not():
    raise RuntimeError("mine")
"""
TEST = {"tests/test_own.py": "def test_own(): pass"}
JUNIT = ("--junitxml=junit.xml", "-o", "junit_family=xunit1")
OUTCOMES = {
    "tests.test_own::test_that_holds": "passed",
    "tests.test_own::test_that_does_not": "failure",
    "nparam.model.py::Right[40]": "passed",
    "nparam.model.py::Right[layers.*: 20]": "passed",
    "nparam.model.py::Right[40 #2]": "passed",
    "nparam.model.py::Drifted[100]": "failure",
    "nparam.model.py::Needs[12]": "error",
    "nparam.model.py::Needs[trainable: 12 * width + depth + 0 * (width + depth…]": "error",
    "nparam.model.py::Silenced[12]": "skipped",
    "nparam.quiet.py::Warned[12]": "skipped",
    "nparam.quiet.py::WarnedToo[12]": "skipped",
    "nparam.model.py::Needs[NPL002 malformed-budget]": "error",
    "nparam.model.py::Unknown[head: 12]": "error",
    "nparam.model.py::Gone[NPL008 stale-budget]": "error",
}


@pytest.fixture(scope="module")
def run(environ):
    return partial(run_pytest, environ)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory, environ):
    """A project with everything that a budget can come to, and strict settings of its own. One
    model was smaller at the last commit."""
    files = {
        "model.py": MODELS,
        "quiet.py": QUIET,
        "nparam-lint.toml": CONFIG,
        "pytest.ini": STRICT,
        "tests/test_own.py": TESTS,
    }
    made = Sample.create(tmp_path_factory.mktemp("mixed") / "project", environ)
    made.committed(files | {"model.py": MODELS.replace("nn.Linear(10, 10)", "nn.Linear(8, 10)")})
    return write_files(made.path, files)


@pytest.fixture(scope="module")
def ran(run, mixed):
    return run("--nparam", "-v", "-rfEs", *JUNIT, cwd=mixed)


@pytest.fixture(scope="module")
def written(ran, mixed):
    """The test cases of the JUnit report of that run."""
    assert ran.returncode == 1
    return cases(mixed)


@pytest.fixture
def unbuilt(tmp_path):
    """A project whose budgets are all stale, so that nothing is built."""
    budgets = '[budgets]\n"model.py::One" = 1\n"model.py::One[head]" = 1\n"model.py::Two" = 2\n'
    return write_files(tmp_path, TEST | {"nparam-lint.toml": budgets, "pytest.ini": STRICT})


FIRST, SECOND, THIRD = UNBUILT = [
    "nparam::model.py::One[NPL008 stale-budget]",
    "nparam::model.py::One[NPL008 stale-budget #2]",
    "nparam::model.py::Two[NPL008 stale-budget]",
]


def cases(root):
    """Each test case of a project's JUnit report, by its class and name."""
    found = ElementTree.parse(root / "junit.xml").getroot().iter("testcase")
    return {f"{case.get('classname')}::{case.get('name')}": case for case in found}


def outcome(case):
    return case[0].tag if len(case) else "passed"


def block(text, title):
    """What pytest prints below a title, up to the next one."""
    after = re.split(rf"^_+ {re.escape(title)} _+\n", text, flags=re.MULTILINE)[1]
    return re.split(r"^(?:[_=]{2,}|-) ", after, flags=re.MULTILINE)[0]


# --- without the option -----------------------------------------------------------------------


def test_without_the_option_nothing_is_imported(environ, tmp_path):
    test = """\
import sys


def test_modules():
    read = {n: type(m).__name__ != "UnreadModule" for n, m in sys.modules.items()}
    room = "nparam_lint.api"
    ours = {n for n, is_read in read.items() if n.startswith("nparam_lint.") and is_read}
    assert ours == {room, f"{room}.pytest_plugin", "nparam_lint.ground", "nparam_lint.ground.late"}
    assert not {"torch", "libcst", "tabulate", "pathspec"} & set(sys.modules)
"""
    files = {"test_modules.py": test, "model.py": MODELS, "nparam-lint.toml": "this is not TOML"}
    write_files(tmp_path, files)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "nparam_lint.api.pytest_plugin"],
        cwd=tmp_path,
        env=environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert re.fullmatch(r"\. +\[100%\]\n1 passed in \S+\n", done.stdout)


def test_without_the_option_nothing_is_said(run, mixed):
    told = [run("-v", *more, cwd=mixed).stdout for more in ((), ("-p", "no:nparam"))]
    # The header lists what is installed.
    with_it, without = (
        re.sub(r"^plugins: .*\n| in [\d.]+s", "", t, flags=re.MULTILINE) for t in told
    )
    assert with_it == without
    assert "nparam" not in with_it.partition("FAILURES")[2]


def test_without_the_option_an_id_is_no_argument(run, unbuilt):
    done = run(FIRST, cwd=unbuilt)
    assert done.returncode == 4
    assert "file or directory not found: nparam::model.py::One" in done.stdout


# --- what comes out ---------------------------------------------------------------------------


def test_each_budget_is_an_item_beside_the_tests(ran, written):
    assert {name: outcome(case) for name, case in written.items()} == OUTCOMES
    assert "14 items" in ran.stdout
    assert re.search(
        r"^=+ 2 failed, 4 passed, 3 skipped, \d warnings, 5 errors in ", ran.stdout, re.M
    )


def test_a_broken_budget_fails_with_the_finding_and_the_table(ran):
    assert block(ran.stdout, "nparam model.py::Drifted[100]") == dedent(
        '''\
        model.py:18:16  NPL001  Drifted has 121 parameters, declared 100: +21 (+21.00 %)
            18 |     """nparam: 100"""
               |                ^^^
            22 |         self.first = nn.Linear(10, 10)
               |                                ^^
            changed since HEAD, when it had 101, which broke the budget too:
              ~ first  10×8 → 10×10  +20  model.py:22
            if the change is intended: nparam-lint update model.py::Drifted

        For an explanation and an example: nparam-lint rule NPL001

        module    type       own    total    share              source
        ────────  ───────  ─────  ───────  ───────  ──────────  ───────────
        (total)   Drifted             121  100.0 %  ██████████
        first     Linear     110      110   90.9 %  █████████▏  model.py:22
        second    Linear      11       11    9.1 %  ▉           model.py:23
        '''
    )


def test_what_cannot_be_judged_is_an_error_and_no_failure(ran):
    said = block(ran.stdout, "ERROR at setup of nparam model.py::Needs[12]")
    assert said.startswith("model.py:27:16  NPL004  Needs needs width, depth\n")
    assert '"model.py::Needs" = "width=…, depth=…"' in said
    for title, place in (
        ("Needs[NPL002 malformed-budget]", "model.py:28:13  NPL002  found 'about twelve', "),
        ("Unknown[head: 12]", "model.py:41:22  NPL007  no module of "),
        ("Gone[NPL008 stale-budget]", "nparam-lint.toml:2:1  NPL008  model.py has no 'Gone'"),
    ):
        said = block(ran.stdout, f"ERROR at setup of nparam model.py::{title}")
        assert said.startswith(place)


def test_a_budget_that_does_not_hold_never_passes(ran):
    assert re.findall(r"^SKIPPED .*", ran.stdout, re.MULTILINE) == [
        "SKIPPED [1] model.py:37: NPL001 is ignored: counted 40, declared 12",
        "SKIPPED [1] quiet.py:5: NPL001 is only a warning here: counted 40, declared 12",
        "SKIPPED [1] quiet.py:9: NPL004 is only a warning here: WarnedToo needs width, depth",
    ]


def test_warnings_are_summarised_whatever_the_filters_say(ran, mixed):
    summary = ran.stdout.partition("warnings summary")[2]
    said = f"{mixed / 'quiet.py'}:5: NparamWarning: NPL001 Warned has 40 parameters"
    assert f"\nquiet.py:5\n  {said}" in summary


def test_the_short_summary_names_the_drift(ran):
    lines = ran.stdout.partition("short test summary info")[2].splitlines()
    assert (
        "FAILED nparam::model.py::Drifted[100] - Drifted has 121 parameters, declared ..." in lines
    )
    assert "ERROR nparam::model.py::Gone[NPL008 stale-budget] - model.py has no 'Gone'" in lines


def test_verbose_says_who_counted(ran):
    (line,) = (n for n in ran.stdout.splitlines() if n.startswith("nparam-lint: "))
    assert re.fullmatch(
        rf"nparam-lint: 7 models by {re.escape(sys.executable)} \(.+\), torch \d.+", line
    )


def test_the_junit_report_has_the_message_and_the_place(written):
    case = written["nparam.model.py::Drifted[100]"]
    assert (case.get("file"), case.get("line")) == ("model.py", "17")  # from 0, as for every test
    message = "Drifted has 121 parameters, declared 100: +21 (+21.00 %)"
    assert case[0].get("message") == message
    assert case[0].text.startswith(f"model.py:18:16  NPL001  {message}\n")
    assert case[0].text.endswith("model.py:23")
    error = written["nparam.model.py::Needs[12]"][0]
    assert error.get("message") == 'failed on setup with "Needs needs width, depth"'
    stale = written["nparam.model.py::Gone[NPL008 stale-budget]"]
    assert (stale.get("file"), stale.get("line")) == ("nparam-lint.toml", "1")


def test_what_is_right_is_quiet_and_colours_are_for_terminals(run, mixed):
    right = "nparam::model.py::Right"
    done = run("--nparam", "-q", "--disable-warnings", right, cwd=mixed)
    assert re.fullmatch(r"\.\.\. +\[100%\]\n3 passed, \d warnings in \S+\n", done.stdout)
    done = run("--nparam", "nparam::model.py::Drifted", "--color=yes", *JUNIT, cwd=mixed)
    assert "\x1b[31mNPL001\x1b[0m  Drifted has 121" in done.stdout
    (case,) = cases(mixed).values()
    assert case[0].text.startswith("model.py:18:16  NPL001  Drifted has 121")


# --- xdist ------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="the interpreter that keeps a log is a shell script")
@pytest.mark.thorough
def test_under_xdist_the_same_comes_out_and_counting_happens_once(
    run, ran, written, mixed, tmp_path
):
    log, python = tmp_path / "log", tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho started >> "{log}"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    options = ("--nparam", "-n2", "--dist", "loadscope", "-v", "-rfEs", *JUNIT)
    options += (f"--junitxml={tmp_path / 'junit.xml'}",)
    done = run(*options, cwd=mixed, NPARAM_LINT_PYTHON=str(python))
    assert log.read_text() == "started\n"

    def essence(cases):
        return {
            name: (case.get("file"), case.get("line"), [(c.tag, c.attrib, c.text) for c in case])
            for name, case in cases.items()
        }

    assert essence(cases(tmp_path)) == essence(written)
    assert done.stdout.count(" NparamWarning: ") == ran.stdout.count(" NparamWarning: ")
    title = "nparam model.py::Drifted[100]"
    assert block(done.stdout, title).partition("\n")[2] == block(ran.stdout, title)
    assert "FAILED nparam::model.py::Drifted[100] - Drifted has 121 par" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "times"),
    [("-n2 --dist loadfile", 1), ("-n2 --dist each", 2), ("-n2 --dist no", 1), ("-p no:xdist", 1)],
)
def test_every_way_to_distribute(run, unbuilt, options, times):
    done = run("--nparam", "-q", *options.split(), cwd=unbuilt)
    assert done.returncode == 1
    assert f"\n{times} passed, {3 * times} errors in " in done.stdout


# --- choosing ---------------------------------------------------------------------------------


def test_the_ids_and_the_marker(run, unbuilt):
    done = run("--nparam", "--collect-only", "-q", "-m", "nparam", cwd=unbuilt)
    assert done.stdout.splitlines()[:4] == [*UNBUILT, ""]
    assert "3/4 tests collected (1 deselected)" in done.stdout
    tree = run("--nparam", "--collect-only", cwd=unbuilt).stdout
    assert f"<Budgets nparam>\n  <Budget {FIRST.removeprefix('nparam::')}>\n" in tree
    assert "@pytest.mark.nparam: " in run("--nparam", "--markers", cwd=unbuilt).stdout
    # A job that leaves the budgets to another one.
    others = run("--strict-markers", "--collect-only", "-q", "-m", "not nparam", cwd=unbuilt)
    assert "Unknown marker" not in others.stdout


@pytest.mark.parametrize(
    ("options", "summary"),
    [
        (("-k", "Two or test_own"), "1 passed, 2 deselected, 1 error"),
        (("-m", "not nparam"), "1 passed, 3 deselected"),
        (("--deselect", "nparam::model.py::One"), "1 passed, 2 deselected, 1 error"),
        (("-x",), "1 passed, 1 error"),
        ((SECOND,), "1 error"),
        (("nparam::model.py::One", "tests"), "1 passed, 2 errors"),
        pytest.param(("nparam::model.py", "-n2"), "3 errors", marks=pytest.mark.thorough),
    ],
)
def test_choosing_items(run, unbuilt, options, summary):
    done = run("--nparam", "-q", "--tb=no", *options, cwd=unbuilt)
    assert f"\n{summary} in " in done.stdout


def test_an_id_can_be_copied_from_the_output_of_a_subdirectory(run, unbuilt):
    done = run("--nparam", "-q", "--tb=no", cwd=unbuilt / "tests")
    (printed,) = re.findall(r"^ERROR (\.\./nparam::model\.py::Two\[.*\]) - ", done.stdout, re.M)
    again = run("--nparam", "-q", "--tb=no", printed, cwd=unbuilt / "tests")
    assert "\n1 error in " in again.stdout


def test_an_unknown_id_is_an_error_that_names_the_nearest(run, unbuilt):
    unknown = THIRD.replace("Two", "Tow")
    done = run("--nparam", unknown, cwd=unbuilt)
    assert done.returncode == 2
    assert f"no budget has the id {unknown}; did you mean {THIRD}?" in done.stdout


def test_last_failed_runs_what_failed(run, unbuilt):
    run("--nparam", "-k", "Two", cwd=unbuilt)
    done = run("--nparam", "--lf", "--tb=no", cwd=unbuilt)
    assert "rerun previous 1 failure" in done.stdout
    assert re.findall(r"^ERROR (nparam::.*?\]) - ", done.stdout, re.MULTILINE) == [THIRD]


# --- when there is nothing to judge -----------------------------------------------------------


def test_an_interpreter_without_torch_is_an_error_of_every_budget(run, mixed, without_torch):
    python = str(without_torch)
    done = run("--nparam", "-k", "Right or Drifted", cwd=mixed, NPARAM_LINT_PYTHON=python)
    assert done.returncode == 1
    assert re.search(r"^nparam EEEE +\[100%\]$", done.stdout, re.MULTILINE)
    for name in ("Right[40]", "Right[layers.*: 20]", "Right[40 #2]", "Drifted[100]"):
        said = block(done.stdout, f"ERROR at setup of nparam model.py::{name}")
        assert said.startswith(f"no model can be built with {python}")
        assert "error: ModuleNotFoundError: No module named 'torch'\n" in said


# A config, and how the error begins: in the report, and in the output.
UNJUDGED = {
    "configuration": (
        'timout = 3\n[budgets]\n"model.py::One" = "12 parsecs"\n',
        "the configuration is wrong: unknown config key 'timout'; did you mean timeout?",
        "the configuration is wrong\n"
        "nparam-lint.toml:1:1: unknown config key 'timout'; did you mean timeout?\n"
        "nparam-lint.toml:3:19: budget 'model.py::One': ",
    ),
    "interpreter": (
        'python = "nowhere/python"\n[budgets]\n"timm::vit" = 12\n',
        "no interpreter at ",
        "no interpreter at",
    ),
}


@pytest.mark.parametrize("name", UNJUDGED)
def test_what_keeps_everything_from_being_judged_is_one_error(run, unbuilt, name):
    config, message, text = UNJUDGED[name]
    (unbuilt / "nparam-lint.toml").write_text(config)
    done = run("--nparam", *JUNIT, cwd=unbuilt)
    assert done.returncode == 1
    said = block(done.stdout, f"ERROR at setup of nparam {name}")
    assert said.startswith(text)
    assert [n for n in said.splitlines() if len(n) > 80 and str(unbuilt) not in n] == []
    assert re.search(r"^=+ 1 passed, 1 error in ", done.stdout, re.MULTILINE)
    case = cases(unbuilt)[f"nparam::{name}"]
    assert (case.get("file"), case.get("line")) == ("nparam-lint.toml", "0")
    assert case[0].get("message").startswith(f'failed on setup with "{message}')


def test_a_defect_is_one_error_beside_the_other_tests(run, unbuilt, monkeypatch):
    monkeypatch.setattr("nparam_lint.gate.read_source", lambda *_, **__: {}["a"])
    done = run("--nparam", "-W", "ignore", cwd=unbuilt)
    assert done.returncode == 1
    said = block(done.stdout, "ERROR at setup of nparam nparam-lint")
    assert said.startswith("a defect of nparam-lint: KeyError: 'a' in gate/__init__.py:")
    assert re.search(r"^=+ 1 passed, 1 error in ", done.stdout, re.MULTILINE)


def test_no_budget_at_all_is_said(run, tmp_path):
    model = "from torch import nn\n\n\nclass Net(nn.Module): pass\n"
    write_files(tmp_path, TEST | {"model.py": model, "pytest.ini": STRICT})
    done = run("--nparam", "-q", cwd=tmp_path)
    assert done.returncode == 0
    said = "NparamWarning: No budget is declared in 2 Python files: nothing to check.\n"
    assert said in done.stdout
    assert "\n1 passed, 1 warning in " in done.stdout


def test_projects_inside_are_judged_by_their_own_config(run, tmp_path):
    model = "from torch import nn\n\n\nclass Net(nn.Linear):\n{}"
    model += "    def __init__(self, width):\n        super().__init__(4, width)\n"
    sizes = '[arguments]\n"net.py::Net" = "width={}"\n'
    files = {
        "pytest.ini": STRICT,
        "top.py": "from b.net import Net\n",
        "a/net.py": model.format(""),
        "a/nparam-lint.toml": sizes.format(4) + '[budgets]\n"net.py::Net" = 999\n',
        "b/net.py": model.format('    """nparam: 45"""\n'),
        "b/nparam-lint.toml": sizes.format(9),
        "b/c d/net.py": model.format('    """nparam: 20"""\n'),
        "b/c d/nparam-lint.toml": sizes.format(4),
    }
    write_files(tmp_path, files)
    done = run("--nparam", *JUNIT, cwd=tmp_path)
    assert done.returncode == 1
    found = cases(tmp_path)
    assert {name: outcome(case) for name, case in found.items()} == {
        "nparam.a/net.py::Net[999]": "failure",
        "nparam.b/net.py::Net[45]": "passed",
        "nparam.b/c d/net.py::Net[20]": "passed",
    }
    files = [case.get("file") for case in found.values()]
    assert files == ["a/nparam-lint.toml", "b/net.py", "b/c d/net.py"]
    assert "NparamWarning" not in done.stdout
    assert run("--nparam", "nparam::b/net.py::Net[45]", cwd=tmp_path).returncode == 0
    assert run("--nparam", "--rootdir=.", cwd=tmp_path / "b").returncode == 0
    (tmp_path / "b/nparam-lint.toml").write_text("devise = 1\n")
    done = run("--nparam", *JUNIT, cwd=tmp_path)
    (case,) = cases(tmp_path).values()
    assert (done.returncode, case.get("file")) == (1, "b/nparam-lint.toml")
    said = "in b: the configuration is wrong\nnparam-lint.toml:1:1: unknown config key"
    assert block(done.stdout, "ERROR at setup of nparam configuration").startswith(said)


# --- Ctrl-C -----------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("options", [(), ("-n2",)], ids=["alone", "xdist"])
@pytest.mark.thorough
def test_an_interrupt_while_counting_ends_everything(environ, tmp_path, options):
    os.mkfifo(tmp_path / "pipe")
    model = f'''\
from torch import nn


class Slow(nn.Module):
    """nparam: 12"""

    def __init__(self):
        super().__init__()
        {reading(tmp_path / "pipe")}
'''
    write_files(tmp_path, TEST | {"model.py": model})
    marker = uuid.uuid4().hex
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "--nparam", *options],
        cwd=tmp_path,
        env=environ | {"TORCH_SURVIVAL_MARKER": marker},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        start_new_session=True,
    )
    try:
        wait_until(lambda: has_reader(tmp_path / "pipe"))
        os.killpg(process.pid, signal.SIGINT)
        told, _ = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 2
    assert "! KeyboardInterrupt !" in told
    assert "INTERNALERROR" not in told
    wait_until(lambda: not marked(marker))
