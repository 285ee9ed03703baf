"""The command line as a user meets it: exit codes, streams, options. Everything runs for real."""

import json
import os
import re
import subprocess
import sys

import pytest
from sample_files import write_files

from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.version import __version__

PLAIN = "def one():\n    return 1\n"


@pytest.fixture(scope="module")
def right(project):
    return project("right")


@pytest.fixture(scope="module")
def drift(project):
    return project("drift")


@pytest.fixture(scope="module")
def gone(tmp_path_factory):
    """A project with a finding for which no model must be built, and with a name beyond ASCII."""
    config = '[budgets]\n"netze/größe.py::Netz" = 12\n'
    files = {"nparam-lint.toml": config, "plain.py": PLAIN}
    return write_files(tmp_path_factory.mktemp("gone"), files)


@pytest.fixture
def told(nparam_lint):
    """What a command says that succeeds."""

    def run(*arguments, cwd):
        done = nparam_lint(*arguments, cwd=cwd)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    return run


def document(text):
    """The one JSON document that the text is, with nothing around it."""
    assert text.startswith("{")
    assert text.endswith("}\n")
    return json.loads(text)


# --- checking -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clean(nparam_lint, right):
    return nparam_lint(cwd=right, COLUMNS="80")


def test_without_a_path_the_current_project_is_checked_and_a_clean_one_exits_with_0(clean):
    assert (clean.returncode, clean.stderr) == (0, "")
    assert clean.stdout.startswith("5 models: 5 measured")  # there is nothing else to say
    assert "NPL" not in clean.stdout


def test_the_report_fits_the_terminal(clean, nparam_lint, gone):
    assert [line for line in clean.stdout.splitlines() if len(line) > 80] == []
    for width in (60, 80):
        narrow = nparam_lint(cwd=gone, COLUMNS=str(width)).stdout
        assert max(map(len, narrow.splitlines())) <= width
    assert "\x1b" not in clean.stdout


@pytest.fixture(scope="module")
def written(nparam_lint, drift, tmp_path_factory):
    """A JSON report in a file, and the run that wrote it."""
    path = tmp_path_factory.mktemp("out") / "report.json"
    options = ("check", "--format", "json", "--output-file", path, "--device", "meta")
    done = nparam_lint(*options, cwd=drift)
    return done, document(path.read_text())


def test_findings_exit_with_1_and_beside_an_output_file_the_log_gets_text(written):
    done, report = written
    assert (done.returncode, done.stderr) == (1, "")
    assert "· 4 budgets broken ·" in done.stdout
    assert [(f["code"], f["path"], f["line"]) for f in report["findings"]] == [
        ("NPL001", "model.py", 5),
        ("NPL001", "model.py", 17),
        ("NPL001", "model.py", 24),
        ("NPL001", "pyproject.toml", 2),
    ]


def has(part, **expected):
    assert {key: part[key] for key in expected} == expected


def test_the_json_schema(written, drift):
    _, report = written
    has(report, version=1, tool={"name": "nparam-lint", "version": __version__})
    environment = report["environment"]
    has(environment, python=sys.executable, devices=["meta"])
    assert re.match(r"\d+\.\d+", environment["torch"])
    assert environment["reason"]
    model = next(m for m in report["models"] if m["target"] == "model.py::ByClass")
    has(model, path="model.py", line=4, call="ByClass()")
    has(model, status="measured", cached=False, reason=None)
    assert model["devices"] == {"meta": {"status": "measured", "total": 121}}
    _, first, second = model["modules"]
    has(first, path="first", type="Linear", own=110, total=110, trainable=110, source="model.py:9")
    has(second, path="second", type="Linear", own=11, total=11, trainable=11, source="model.py:10")
    assert 0 < report["summary"]["seconds"] < 100
    assert str(drift) not in json.dumps(report["models"])


@pytest.mark.thorough
def test_an_absolute_path_from_elsewhere_gives_paths_of_the_project(nparam_lint, drift, tmp_path):
    done = nparam_lint(drift / "model.py", "--format=concise", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "model.py:5:16:",
        "model.py:17:17:",
        "model.py:24:27:",
        "pyproject.toml:2:1:",
    ]
    for line in lines:
        assert re.fullmatch(r"[^\s:]+:\d+:\d+: (error|warning): NPL\d{3} \S.*", line)


def test_a_path_in_a_subdirectory_is_named_from_the_project(told, right):
    every = document(told("block.py", "--format", "json", "--declared", cwd=right / "nets"))[
        "models"
    ]
    models = {m["target"]: m["because"] for m in every if m["way"] is None}
    because = "depends on nets/block.py"
    assert models == {"nets/block.py::Block(64)": None, "nets/lm.py::TiedLM": because}


def test_a_project_without_models_is_no_error(told, tmp_path):
    (tmp_path / "plain.py").write_text(PLAIN)
    assert "1 Python file" in told(tmp_path, cwd=tmp_path)


# --- the question cannot be answered --------------------------------------------------------


def test_what_a_configuration_says_is_printed_and_does_nothing(nparam_lint, tmp_path):
    key = r"a.py::B\n::error::no\n##[error]no\u001b[31m\u0007"
    (tmp_path / "nparam-lint.toml").write_text(f'[budgets]\n"{key}" = 3\n')
    (tmp_path / "::error ::no.toml").write_text("tim = 3\n")
    done = nparam_lint(cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "nparam-lint: the configuration is wrong\n"
        "nparam-lint.toml:2:1: budget 'a.py::B\\n::error::no\\n## [error]no\\x1b[31m\\x07': found "
        "`::error::no ## [error]no\\x1b[31m\\x07`, expected (ARGUMENTS), [SELECTOR] or the end\n"
    )
    named = nparam_lint("--config", "::error ::no.toml", cwd=tmp_path)
    assert "\n: :error ::no.toml:1:1: unknown config key 'tim'" in named.stderr


def test_an_interpreter_without_torch_is_told_with_its_reason_and_the_next_step(
    nparam_lint, right, without_torch
):
    done = nparam_lint("--python", without_torch, "--format", "json", cwd=right)
    assert done.returncode == 2
    report = document(done.stdout)
    assert {m["status"] for m in report["models"]} == {"not_measured"}
    assert report["models"]
    assert not any(b["ok"] for m in report["models"] for b in m["budgets"])
    assert report["environment"]["torch"] is None
    assert (report["summary"]["measured"], report["findings"]) == (0, [])
    for part in (str(without_torch), "option --python", "No module named 'torch'", "next: "):
        assert part in done.stderr
        assert part in report["error"]
    text = nparam_lint(cwd=right, NPARAM_LINT_PYTHON=str(without_torch))
    assert text.returncode == 2
    assert "environment variable NPARAM_LINT_PYTHON" in text.stderr
    assert "✓" not in text.stdout


# --- other commands -------------------------------------------------------------------------


def test_help_says_what_can_be_asked_and_how_a_budget_is_written(told, tmp_path):
    text = told("--help", cwd=tmp_path)
    for part in (
        "nparam-lint [PATH…]",
        "show TARGET",
        "rule CODE",
        "doctor",
        "timm::create_model('resnet50')",
        "nparam: 86.6M",
        "[tool.nparam-lint.budgets]",
        "exit codes: 0 no errors (perhaps warnings), 1 errors, 2 ",
    ):
        assert part in text
    for command, part in (("check", "--declared"), ("show", "TARGET"), ("doctor", "--python")):
        assert part in told(command, "--help", cwd=tmp_path)
    assert told("--version", cwd=tmp_path) == f"nparam-lint {__version__}\n"


def test_rules_are_explained_and_listed(told, tmp_path):
    explained = told("rule", "npl001", cwd=tmp_path)
    assert explained.startswith("NPL001  count-outside-budget  (error)\n")
    listed = re.findall(r"^NPL\d+", told("rule", cwd=tmp_path), re.MULTILINE)
    assert listed == list(RULES)


def test_doctor_says_what_is_used_and_why(told, nparam_lint, right, without_torch):
    text = told("doctor", cwd=right / "nets")
    rows = dict(re.findall(r"^(\S+(?: \S+)?) {2,}(.+)$", text, re.MULTILINE))
    assert rows["project"] == str(right)
    assert rows["config"] == str(right / "pyproject.toml")
    assert rows["python"] == sys.executable
    assert rows["because"]
    assert re.match(r"\d+\.\d+", rows["torch"])
    assert rows["devices"].startswith("meta, cpu")
    bare = nparam_lint("doctor", "--python", without_torch, cwd=right)
    assert bare.returncode == 2
    assert "No module named 'torch'" in bare.stdout
    assert "next: " in bare.stdout


def test_show_counts_any_target_from_anywhere_in_the_project(told, right):
    text = told("show", "mlp.py::MLP(width=2)", "-v", cwd=right / "nets")
    assert "nets/mlp.py::MLP(width=2)" in text
    assert re.search(r"parameters +1,600\b", text)
    assert "nets/mlp.py:22" in text
    assert re.search(r"hidden\.weight +2 × 784", text)


def test_show_counts_models_of_installed_packages(told, tmp_path):
    text = told("show", "torch.nn::Bilinear(3, 4, 5)", "--format=json", cwd=tmp_path)
    (model,) = document(text)["models"]
    assert (model["target"], model["counts"]["total"]) == ("torch.nn::Bilinear(3, 4, 5)", 65)
    assert [p["shape"] for p in model["parameters"]] == [[5, 3, 4], [5]]


def test_show_of_what_cannot_be_built_exits_with_1_and_says_why(nparam_lint, tmp_path):
    (tmp_path / "alone.py").write_text(
        "from torch import nn\nclass Alone(nn.Linear):\n    def __init__(self, width): pass\n"
    )
    done = nparam_lint("show", "alone.py::Alone", cwd=tmp_path)
    assert done.returncode == 1
    assert "Alone needs width" in done.stdout


def test_show_of_what_a_model_contains(told, right):
    text = told("show", "nets/block.py::Block", cwd=right)
    assert "Block(width=64) in TiedLM(), at blocks.0" in text


# --- streams --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "more", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always", "--format", "json"], {}, False),
    ],
)
def test_color_is_for_those_who_want_it(nparam_lint, gone, options, more, colored):
    done = nparam_lint(*options, cwd=gone, **more)
    assert done.returncode == 1
    assert ("\x1b[" in done.stdout) is colored


def test_the_format_may_come_from_the_environment(nparam_lint, gone):
    said = "nparam-lint.toml:2:1: error: NPL008 there is no file netze/größe.py\n"
    done = nparam_lint(cwd=gone, NPARAM_LINT_FORMAT="concise")
    assert (done.returncode, done.stdout) == (1, said)
    done = nparam_lint("--format", "json", cwd=gone, NPARAM_LINT_FORMAT="concise")
    assert document(done.stdout)["findings"][0]["message"] in said


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["--format", "json"], 1),
        (["rule"], 0),
        (["--help"], 0),
        (["help", "solve"], 0),
        (["completion", "bash"], 0),
        (["shwo"], 2),
    ],
)
def test_a_reader_that_goes_away_is_no_error_to_tell(environ, gone, arguments, code):
    """The exit code is that of the run: whoever sets `pipefail` reads it."""
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does when it has seen enough
    try:
        done = subprocess.run(
            [sys.executable, "-m", "nparam_lint", *arguments],
            cwd=gone,
            env=environ,
            stdout=writer,
            stderr=writer if code == 2 else subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (code, None if code == 2 else "")


def test_a_closed_output_is_no_error_to_tell(environ, gone):
    command = f"{sys.executable} -m nparam_lint --output-file report.txt >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=gone, env=environ, check=False).returncode == 1
    assert "NPL008" in (gone / "report.txt").read_text()
    (gone / "report.txt").unlink()


def test_a_terminal_that_knows_only_ascii_is_served(nparam_lint_process, gone):
    done = nparam_lint_process(cwd=gone, PYTHONIOENCODING="ascii", FORCE_COLOR="1")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.isascii()
    assert "NPL008" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")
def test_an_error_is_wrapped_for_a_terminal_alone(environ, gone):
    import pty

    command = [sys.executable, "-m", "nparam_lint", "--format", "x" * 40]
    answers = []
    for is_terminal in (True, False):
        above, below = pty.openpty() if is_terminal else os.pipe()
        done = subprocess.run(
            command,
            cwd=gone,
            env=environ | {"COLUMNS": "80"},
            stdout=subprocess.DEVNULL,
            stderr=below,
            check=False,
        )
        assert done.returncode == 2
        answers.append(os.read(above, 10_000).decode().replace("\r", "").split("\n"))
        os.close(below)
        os.close(above)
    wrapped, whole = answers
    assert max(map(len, wrapped)) <= 80 < max(map(len, whole))
    assert " ".join(" ".join(wrapped).split()) == " ".join(" ".join(whole).split())


# --- lightness ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["rule", "NPL001"], {"torch", "numpy", "libcst", "pathspec", "tabulate"}),
        (["right"], {"torch", "numpy"}),
    ],
)
def test_the_front_end_imports_neither_torch_nor_what_it_does_not_use(
    environ, right, arguments, unwanted
):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nparam_lint", *arguments],
        cwd=right.parent,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "nparam_lint.cli.main" in imported
    assert unwanted & {name.partition(".")[0] for name in imported} == set()
    assert "nparam_lint.worker.launch" not in imported
