"""What is mistyped on the command line: messages say what may have been meant, and exit with 2."""

import json

import pytest
from sample_repository import Sample

from nparam_lint.cli.main import COMMANDS
from nparam_lint.ground.rule_catalogue import RULES

MODELS = """\
from torch import nn


class Block(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width)


class GPT(nn.Module):
    def __init__(self, n_layer=2, n_embd=8):
        super().__init__()
        self.h = nn.ModuleList(Block(n_embd) for _ in range(n_layer))

    @classmethod
    def small(cls):
        return cls(1)


def any_width(**more):
    return Block(**more)
"""
NO_CLASS = "nets.py has no 'GTP'; did you mean GPT?\nnets.py defines Block, GPT, any_width"
NO_METHOD = "nets.GPT has no 'smal'; did you mean small?"
NO_ARGUMENT = "GPT has no argument n_layers; did you mean n_layer?"
NO_FILE = "there is no file nest.py; did you mean nets.py?"
VARY = ("--budget", "1k", "--vary", "n_embd")


@pytest.mark.parametrize(
    "command",
    [("show",), ("annotate",), ("compare", "nets.py::GPT"), ("formula",), ("solve", *VARY)],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nets.py::GTP", NO_CLASS),
        ("nets.py::GPT.smal()", NO_METHOD),
        ("nets.py::GPT(n_layers=12)", NO_ARGUMENT),
        ("nest.py::GTP", NO_FILE),
        ("nest.py::GPT", "there is no file nest.py; did you mean nets.py::GPT?"),
    ],
)
def test_a_target_that_is_not_there(answered, command, target, said):
    first, *rest = command
    done = answered(first, target, *rest, code=2)
    assert (done.stdout, done.stderr) == ("", f"nparam-lint: {said}\n")


def test_an_argument_that_the_function_passes_on_is_a_failure_of_the_model(answered):
    done = answered("show", "nets.py::any_width(widht=3)", code=1)
    assert "any_width(widht=3) raised TypeError" in done.stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory, environ):
    sample = Sample.create(tmp_path_factory.mktemp("history") / "repository", environ)
    sample.committed({"nets.py": MODELS})
    return sample.path


@pytest.mark.parametrize(
    ("target", "said"), [("nets.py::GTP", "nets has no 'GTP'"), ("nets.py::GPT(1, n=2)", "GPT has")]
)
def test_history_of_what_never_was(nparam_lint, repository, target, said):
    done = nparam_lint("history", target, cwd=repository)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"nparam-lint: {said}")


def test_history_of_what_is_gone(nparam_lint, repository):
    (repository / "nets.py").write_text(MODELS.replace("any_width", "no_width"))
    done = nparam_lint("history", "nets.py::any_width(width=2)", cwd=repository)
    assert done.returncode == 0
    assert "base" in done.stdout  # the subject of its commit


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("shwo", "there is no file or directory shwo; did you mean show?\n"),
        ("nest.py", "there is no file or directory nest.py; did you mean nets.py?\n"),
        ("init nest.py", "there is no file or directory nest.py; did you mean nets.py?\n"),
        ("help shwo", "there is no command shwo; did you mean show?\n"),
        (
            "show GPT --formt json",
            "nparam-lint show has no option --formt; did you mean --format?\n"
            "try: nparam-lint show --help\n",
        ),
        (
            "--depht=2",
            "nparam-lint check has no option --depht=2; did you mean --depth?\n"
            "try: nparam-lint check --help\n",
        ),
        ("show GPT GPT", "found 'GPT', expected nothing more\ntry: nparam-lint show --help"),
        ("show GPT --color alway", "argument --color: found 'alway'; did you mean always"),
        ("completion bahs", "argument SHELL: found 'bahs'; did you mean bash?"),
    ],
)
def test_words_that_are_not_known(answered, words, said):
    done = answered(*words.split(), code=2)
    assert done.stderr.startswith(f"nparam-lint: {said}")


def test_a_file_for_a_target_says_how_to_see_its_models(answered):
    done = answered("show", "nets.py", code=2)
    assert done.stderr.startswith("nparam-lint: 'nets.py' is not a target: ")
    assert done.stderr.endswith("\nnext, for the models in it: nparam-lint nets.py\n")


FEW = "expected a percentage, or more than 100 parameters; did you mean 5%?"


def test_a_tolerance_of_few_parameters_is_asked_about(answered, place, nparam_lint, tmp_path):
    done = answered("--tolerance", "5", code=2)
    assert f"option --tolerance is '5', {FEW}\n" in done.stderr
    answered("--tolerance", "0")
    answered("--tolerance", "101")
    text = 'tolerance = 5\n[budgets]\n"nets.py::GPT" = { budget = "1k", tolerance = "5" }\n'
    (tmp_path / "nparam-lint.toml").write_text(text)
    done = nparam_lint(cwd=tmp_path)
    assert done.returncode == 2
    assert f"nparam-lint.toml:1:1: config key 'tolerance' is 5, {FEW}\n" in done.stderr
    assert "nparam-lint.toml:3:35: " in done.stderr
    assert place.is_dir()


@pytest.mark.parametrize("command", [[], ["check"], ["show"], ["update"], ["completion"]])
def test_help(answered, command):
    assert answered("help", *command).stdout == answered(*command, "--help").stdout


def test_help_is_one_screen(answered):
    lines = answered("--help").stdout.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in COMMANDS if name != "check")


@pytest.mark.parametrize(("width", "least"), [("80", 70), ("120", 100)])
def test_help_and_lists_are_as_wide_as_the_terminal(answered, width, least):
    asked = [("help", name) for name in COMMANDS]
    asked += [("rule",), *(("rule", code) for code in RULES)]
    widest = [max(map(len, answered(*words, COLUMNS=width).stdout.splitlines())) for words in asked]
    assert max(widest) <= int(width), dict(zip(asked, widest, strict=True))
    assert max(widest) >= least


@pytest.mark.parametrize("word", ["list", "explain", "version"])
def test_what_another_tool_calls_a_command(answered, word):
    said = answered(word, code=2).stderr
    assert said.startswith(f"nparam-lint: there is no command {word}; next: nparam-lint ")


def test_options_may_stand_before_the_command(answered):
    done = answered("--format", "json", "show", "GPT", "--device", "meta")
    assert '"call": "GPT()"' in done.stdout.replace('":"', '": "')


def test_a_short_name_for_the_file(answered, place):
    said = answered("show", "GPT", "-o", "short.txt").stdout
    assert (said, "GPT()" in (place / "short.txt").read_text()) == ("", True)
    answered("show", "nets.py::GTP", "--format", "json", "-o", "short.json", code=2)
    assert json.loads((place / "short.json").read_text())["error"].startswith(NO_CLASS)
