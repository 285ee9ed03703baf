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


FEW = "expected a percentage, or more than 100 parameters; did you mean 5%?"
HELP = "try: nparam-lint {} --help".format
REFUSED = {
    "shwo": "there is no file or directory shwo; did you mean show?",
    "nest.py": "there is no file or directory nest.py; did you mean nets.py?",
    "nope/net.py": "there is no file or directory nope/net.py",
    "nets.py::GPT": "there is no file or directory nets.py::GPT; to see one model: "
    "nparam-lint show 'nets.py::GPT'",
    "init nest.py": "there is no file or directory nest.py; did you mean nets.py?",
    "init nparam-lint.toml": "nparam-lint.toml is not a Python file; models are read from .py "
    "files",
    ". ..": "{above} is outside the project root {here}",
    "help shwo": "there is no command shwo; did you mean show?",
    "list": "there is no command list; next: nparam-lint lists the models, nparam-lint claims what "
    "is stated of them",
    "explain": "there is no command explain; next: nparam-lint rule CODE",
    "version": "there is no command version; next: nparam-lint --version",
    "--format jsn": "argument --format: there is no format 'jsn'; did you mean "
    f"json?\n{HELP('check')}",
    "--depht=2": "nparam-lint check has no option --depht=2; did you mean --depth?\n"
    f"{HELP('check')}",
    "--device gpu --jobs 0": "the configuration is wrong\n"
    "option --device is 'gpu', expected one of auto, meta, cpu, cuda, mps, xpu; did you mean xpu?\n"
    "option --jobs is '0', expected a whole number from 1 up",
    "--tolerance 5": f"the configuration is wrong\noption --tolerance is '5', {FEW}",
    "--config nope.toml": "there is no config file nope.toml",
    "--static -o nope/report.txt": "cannot write nope/report.txt: No such file or directory",
    "show": f"the following arguments are required: TARGET\n{HELP('show')}",
    "show nets.py": "'nets.py' is not a target: found `nets.py`, expected LOCATION::CALLABLE such "
    "as nanogpt/model.py::GPT or timm::resnet50\nnext, for the models in it: nparam-lint nets.py",
    "show nets.py::GPT[x]": "'nets.py::GPT[x]' is not a target: found `[x]`, expected (ARGUMENTS) "
    "or the end",
    "show GPT --formt json": "nparam-lint show has no option --formt; did you mean --format?\n"
    f"{HELP('show')}",
    "show GPT GPT": f"found 'GPT', expected nothing more\n{HELP('show')}",
    "show GPT --color alway": "argument --color: found 'alway'; did you mean always?\n"
    f"{HELP('show')}",
    "show GPT --python nope/python": "no interpreter at {here}/nope/python (option --python, "
    "'{here}/nope/python'): name an existing one, such as .venv/bin/python, or leave it out to "
    "have it found",
    "completion bahs": f"argument SHELL: found 'bahs'; did you mean bash?\n{HELP('completion')}",
    "rule NPL999": "no rule 'NPL999'; did you mean NPL009?",
}


TEXT_ALONE = ("--format jsn", ". ..")  # of a second project nothing is said to programs


@pytest.mark.parametrize("words", REFUSED)
def test_words_that_are_not_known(answered, place, words):
    said = REFUSED[words].format(above=place.parent, here=place)
    done = answered(*words.split(), code=2)
    assert (done.stdout, done.stderr) == ("", f"nparam-lint: {said}\n")
    if words not in TEXT_ALONE:  # for programs a document says it, too
        is_option = words.startswith(("show", "init", "-", "n"))
        option, more = (
            (["--format=json"], {}) if is_option else ([], {"NPARAM_LINT_FORMAT": "json"})
        )
        done = answered(*words.split(), *option, code=2, **more)
        report = json.loads(done.stdout)
        assert (report["models"], report["findings"], report["error"]) == ([], [], said)
        assert done.stderr == f"nparam-lint: {said}\n"


@pytest.mark.parametrize("command", [[], ["show"]])
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


def test_options_may_stand_before_the_command(answered):
    done = answered("--format", "json", "show", "GPT", "--device", "meta")
    assert '"call": "GPT()"' in done.stdout.replace('":"', '": "')


def test_a_short_name_for_the_file(answered, place):
    said = answered("show", "GPT", "-o", "short.txt").stdout
    assert (said, "GPT()" in (place / "short.txt").read_text()) == ("", True)
    answered("show", "nets.py::GTP", "--format", "json", "-o", "short.json", code=2)
    assert json.loads((place / "short.json").read_text())["error"].startswith(NO_CLASS)
