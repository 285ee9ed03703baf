"""What is mistyped or cannot be asked, of every command: messages say what may have been meant, and
exit with 2. And the help."""

import json
import shlex

import pytest
from pages import PageRun, commands_of, pages

from nparam_lint.cli.main import COMMANDS
from nparam_lint.ground.rule_catalogue import RULES

PAGE = pages(__file__)["refusals"]


@pytest.fixture(scope="module")
def place(tmp_path_factory, environ, nparam_lint, request):
    """The project of the page, which is true: nothing was written where something was refused."""
    run = PageRun(tmp_path_factory.mktemp("refusals") / "project", environ, nparam_lint)
    run.hold(PAGE, request.config)
    assert (run.folder / "notes.csv").read_text() == "they stay\n"
    return run.folder


def test_whoever_reads_json_gets_a_document_that_says_it_too(place, nparam_lint):
    for line in commands_of(PAGE):
        if line.startswith("sweep") or "--format" in line or line == ". ..":
            continue  # of a second project nothing is said to programs
        words = shlex.split(line)
        done = nparam_lint(*words, cwd=place, NPARAM_LINT_FORMAT="json")
        document = json.loads(done.stdout)
        assert (done.returncode, done.stderr) == (2, f"nparam-lint: {document['error']}\n")
        assert not [value for value in document.values() if isinstance(value, list) and value]


NO_CLASS = "nets.py has no 'GTP'; did you mean GPT?\nnets.py defines Block, GPT, any_width"
TARGETS = {
    "nets.py::GTP": NO_CLASS,
    "nets.py::GPT.smal()": "nets.GPT has no 'smal'; did you mean small?",
    "nets.py::GPT(n_layers=12)": "GPT has no argument n_layers; did you mean n_layer?",
    "nest.py::GTP": "there is no file nest.py; did you mean nets.py?",
    "nest.py::GPT": "there is no file nest.py; did you mean nets.py::GPT?",
}


@pytest.mark.parametrize(
    "command",
    ["show", "annotate", "compare nets.py::GPT", "formula", "solve --budget 1k --vary n_embd"],
)
def test_a_target_that_is_not_there(answered, command):
    for target, said in TARGETS.items():
        done = answered(*command.split(), target, code=2)
        assert (done.stdout, done.stderr) == ("", f"nparam-lint: {said}\n")


def test_what_is_asked_of_a_model_that_is_another_or_gone(answered):
    done = answered("show", "nets.py::any_width(widht=3)", code=1)
    assert "any_width(widht=3) raised TypeError" in done.stdout
    assert "base" in answered("history", "nets.py::gone(width=2)").stdout  # its commit's subject


@pytest.mark.parametrize("command", [[], ["show"]])
def test_help(answered, command):
    assert answered("help", *command).stdout == answered(*command, "--help").stdout


def test_help_is_one_screen(answered):
    """With the prompt below it."""
    lines = answered("--help").stdout.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in COMMANDS if name != "check")


@pytest.mark.parametrize(("width", "least"), [("80", 70), ("120", 100)])
def test_help_and_lists_are_as_wide_as_the_terminal(answered, width, least):
    asked = [("help", name) for name in COMMANDS]
    asked += [("rule",), *(("rule", code) for code in RULES)]
    widest = [max(map(len, answered(*words, COLUMNS=width).stdout.splitlines())) for words in asked]
    assert max(widest) <= int(width), dict(zip(asked, widest, strict=True))
    assert max(widest) >= least


def test_options_may_stand_before_the_command(answered):
    done = answered("--format", "json", "show", "GPT", "--device", "meta")
    assert '"call": "GPT()"' in done.stdout.replace('":"', '": "')


def test_a_short_name_for_the_file(answered, place):
    said = answered("show", "GPT", "-o", "short.txt").stdout
    assert (said, "GPT()" in (place / "short.txt").read_text()) == ("", True)
    answered("show", "nets.py::GTP", "--format", "json", "-o", "short.json", code=2)
    assert json.loads((place / "short.json").read_text())["error"].startswith(NO_CLASS)
