"""Configuration: what may be said, where it may be said, and every fault at its place, at once."""

import sys
from fractions import Fraction
from pathlib import Path
from textwrap import dedent

import pytest

from nparam_lint.claims import Selector, Target
from nparam_lint.config.load import ConfigError, describe, load_settings
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.values import Position


@pytest.fixture
def load(tmp_path):
    """Settings from the text of a config file; `options` are the command line's."""

    def loaded(text="", *, name="nparam-lint.toml", environ=None, **options):
        write(tmp_path / name, text)
        return load_settings(tmp_path, None, environ or {}, options)

    return loaded


@pytest.fixture
def faults(load):
    """The faults of a config file, a line each as the user sees them, in the order of the file."""

    def found(text="", **more):
        with pytest.raises(ConfigError) as caught:
            load(text, **more)
        places = sorted(
            caught.value.problems,
            key=lambda p: (p.position.path, p.position.line, p.position.column, p.message),
        )
        assert sorted(str(caught.value).split("\n")) == sorted(map(describe, places))
        return [describe(place) for place in places]

    return found


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")


# --- where it is read from ------------------------------------------------------------------


def test_without_a_config_there_are_defaults(tmp_path):
    settings = load_settings(tmp_path, None, {}, {})
    assert settings.config is None
    assert (settings.device, settings.timeout, settings.format) == ("auto", 60.0, "text")
    assert (settings.python, settings.tolerance, settings.memory) == (None, None, None)
    assert settings.budgets == ()
    assert settings.arguments == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nparam-lint.toml", 'device = "cpu"\n[budgets]\n"a.py::B" = 3\n'),
        (
            "pyproject.toml",
            '[tool.nparam-lint]\ndevice = "cpu"\n[tool.nparam-lint.budgets]\n"a.py::B" = 3\n',
        ),
        ("pyproject.toml", '[tool.nparam-lint]\ndevice = "cpu"\nbudgets = { "a.py::B" = 3 }\n'),
        (
            "pyproject.toml",
            '[tool."nparam-lint"]\ndevice = "cpu"\n[tool."nparam-lint".budgets]\n"a.py::B" = 3\n',
        ),
        ("pyproject.toml", '[ tool . nparam-lint ]\ndevice = "cpu"\nbudgets."a.py::B" = 3\n'),
        ("pyproject.toml", '[tool]\nnparam-lint = {device = "cpu", budgets = {"a.py::B" = 3}}\n'),
    ],
)
def test_both_files_and_every_spelling_of_the_table_say_the_same(load, tmp_path, name, text):
    settings = load(text, name=name)
    assert settings.config == tmp_path / name
    assert settings.device == "cpu"
    assert [str(b.target) for b in settings.budgets] == ["a.py::B"]


@pytest.mark.parametrize(
    ("text", "table", "column"),
    [
        ('[tool.nparam_lint.budgets]\n"a.py::B" = 3\n', "tool.nparam_lint", 7),
        ('[ tool . "NParam.Lint" ]\ndevice = "cpu"\n', "tool.NParam.Lint", 10),
        ('[nparam-lint.budgets]\n"a.py::B" = 3\n', "nparam-lint", 2),
        ('[tools.nparam-lint]\ndevice = "cpu"\n', "tools.nparam-lint", 8),
        ('[tool]\nnparamlint = { device = "cpu" }\n', "tool.nparamlint", 1),
        ('[tool.nparams-lint]\ndevice = "cpu"\n', "tool.nparams-lint", 7),
        ('[tool."nparam lint"]\ndevice = "cpu"\n', "tool.nparam lint", 7),
    ],
)
def test_a_table_that_is_not_called_so_is_told(faults, text, table, column):
    line = 2 if "= {" in text else 1
    said = f"[{table}] is not read, expected [tool.nparam-lint]"
    assert faults(text, name="pyproject.toml") == [f"pyproject.toml:{line}:{column}: {said}"]


def test_a_pyproject_in_another_encoding_is_told(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.nparam-lint]\n", "utf-16")
    with pytest.raises(ConfigError, match=r"^pyproject.toml:1:1: cannot be read: 'utf-8' codec"):
        load_settings(tmp_path, None, {}, {})


def test_a_name_that_is_no_table_is_none_of_our_business(load):
    text = '[project]\nname = "nparam_lint"\n[project.scripts]\nnparam-lint = "a:b"\n'
    assert (
        load(f"{text}[dependency-groups]\nnparam-lint = []\n", name="pyproject.toml").jobs is None
    )


def test_our_own_file_stands_before_pyproject(load, tmp_path):
    write(tmp_path / "pyproject.toml", '[tool.nparam-lint]\ndevice = "cuda"\ntimeout = 1\n')
    settings = load('device = "cpu"')
    assert (settings.device, settings.timeout) == ("cpu", 60.0)


def test_budgets_beside_our_own_file_are_not_passed_over(load, faults, tmp_path):
    write(tmp_path / "pyproject.toml", '[tool.nparam-lint.budgets]\n"a.py::B" = 3\n')
    assert faults('device = "cpu"') == [
        "pyproject.toml:1:19: these budgets are not read, because nparam-lint.toml exists; "
        'next: move them there, or add to it: extend = "pyproject.toml"'
    ]
    settings = load('device = "cpu"\nextend = "pyproject.toml"')
    assert [str(b.target) for b in settings.budgets] == ["a.py::B"]


def test_a_pyproject_that_is_not_about_us_is_none_of_our_business(load):
    assert load('[tool.other]\ndevice = "abacus"\n', name="pyproject.toml").config is None
    assert load("this is [not TOML", name="pyproject.toml").config is None


def test_the_config_of_the_command_line_is_read_instead(tmp_path):
    write(tmp_path / "nparam-lint.toml", 'device = "cuda"\n')
    write(tmp_path / "ci" / "strict.toml", 'device = "cpu"\n')
    settings = load_settings(tmp_path, tmp_path / "ci" / "strict.toml", {}, {})
    assert (settings.device, settings.config) == ("cpu", tmp_path / "ci" / "strict.toml")


# --- extend ---------------------------------------------------------------------------------


def test_extend_is_relative_to_the_file_and_the_nearer_file_wins(load, tmp_path):
    write(
        tmp_path / "shared" / "base.toml",
        """\
        extend = "../more/pyproject.toml"
        timeout = 5
        device = "cpu"
        [budgets]
        "a.py::A" = 1
        [arguments]
        "a.py::A" = "1"
        "a.py::B" = "1"
        """,
    )
    write(
        tmp_path / "more" / "pyproject.toml",
        '[tool.nparam-lint]\njobs = 3\ntimeout = 9\n[tool.nparam-lint.budgets]\n"m.py::M" = 7\n',
    )
    settings = load(
        """\
        extend = "shared/base.toml"
        device = "meta"
        [budgets]
        "b.py::B" = 2
        [arguments]
        "a.py::A" = "2"
        """
    )
    assert (settings.device, settings.timeout, settings.jobs) == ("meta", 5.0, 3)
    assert [(str(b.target), b.declared, b.position.path) for b in settings.budgets] == [
        ("m.py::M", "7", "more/pyproject.toml"),
        ("a.py::A", "1", "shared/base.toml"),
        ("b.py::B", "2", "nparam-lint.toml"),
    ]
    assert settings.arguments == {
        Target("a.py", "A"): Recipe("2"),
        Target("a.py", "B"): Recipe("1"),
    }
    assert settings.recipe_positions == {
        Target("a.py", "A"): Position("nparam-lint.toml", 6, 1),
        Target("a.py", "B"): Position("shared/base.toml", 8, 1),
    }


def test_extend_in_a_circle_is_an_error(faults, tmp_path):
    write(tmp_path / "b.toml", '\nextend = "nparam-lint.toml"\n')
    assert faults('extend = "b.toml"\n') == [
        "b.toml:2:1: config key 'extend': nparam-lint.toml extends itself"
    ]
    assert faults('extend = "nparam-lint.toml"\n') == [
        "nparam-lint.toml:1:1: config key 'extend': nparam-lint.toml extends itself"
    ]


def test_extend_of_nothing_is_an_error(faults):
    assert faults('timeout = 3\nextend = "gone.toml"\n') == [
        "nparam-lint.toml:2:1: config key 'extend': there is no file gone.toml"
    ]
    assert faults("extend = 3\n") == [
        "nparam-lint.toml:1:1: config key 'extend' is 3, expected a path"
    ]


def test_the_faults_of_an_extended_file_are_told_with_its_name(faults, tmp_path):
    write(tmp_path / "shared" / "base.toml", "timeout = 5\njobs = 0\n")
    assert faults('extend = "shared/base.toml"\ndevice = "abacus"\n') == [
        "nparam-lint.toml:2:1: config key 'device' is 'abacus', expected one of auto, meta, cpu, "
        "cuda, mps, xpu",
        "shared/base.toml:2:1: config key 'jobs' is 0, expected a whole number from 1 up",
    ]


# --- all faults, at their places ------------------------------------------------------------


def test_every_fault_is_told_at_once_with_its_place(faults):
    # Other tools have an `exclude` too, and the same target stands in two tables.
    assert faults(
        """\
        [tool.ruff]
        exclude = ["docs"]
        # timeout = "a comment"

        [tool.nparam-lint]
        timeout = 5
        tim = 5
        exclude = 3
          devise = "cpu"
        jobs = 0

        [tool.nparam-lint.arguments]
        "vit.py::ViT" = "image_size=="
        "vit.py::ViT(3)" = "4"

        [tool.nparam-lint.budgets]
        "vit.py::Other" = 3
        "vit.py::ViT" = "about 3"
        "vit.py" = 3
        "vit.py::ViT[a, b]" = 3
        'vit.py::Small' = { budget = "3", tolerence = "1%" }

        [tool.zzz]
        device = "abacus"
        """,
        name="pyproject.toml",
    ) == [
        "pyproject.toml:7:1: unknown config key 'tim'; did you mean timeout?",
        "pyproject.toml:8:1: config key 'exclude' is 3, expected a list of strings",
        "pyproject.toml:9:3: unknown config key 'devise'; did you mean device?",
        "pyproject.toml:10:1: config key 'jobs' is 0, expected a whole number from 1 up",
        "pyproject.toml:13:1: arguments of 'vit.py::ViT' is 'image_size==', which is not valid "
        "Python: "
        "found `(image_size==)`, expected the arguments of a Python call: invalid syntax",
        "pyproject.toml:14:1: arguments of 'vit.py::ViT(3)': expected a target without arguments, "
        "such as vit.py::ViT",
        "pyproject.toml:18:17: budget 'vit.py::ViT': found 'about 3', expected a count such as "
        "124_475_904, 86.6M, 7.1M ± 2%, <= 25k, 26.5M..27.5M, ~58k or a formula",
        "pyproject.toml:19:1: budget 'vit.py': found `vit.py`, expected LOCATION::CALLABLE such as "
        "nanogpt/model.py::GPT or timm::resnet50",
        "pyproject.toml:20:1: budget 'vit.py::ViT[a, b]': found `b`, expected one metric of total, "
        "trainable, frozen, buffers, bytes, non_embedding, active, gradient_bytes, "
        "training_bytes, momentum_training_bytes, sgd_training_bytes",
        "pyproject.toml:21:35: unknown config key 'tolerence'; did you mean tolerance?",
    ]


def test_faults_of_environment_and_command_line_are_told_with_those_of_the_file(faults):
    environ = {"NPARAM_LINT_TIMEOUT": "soon", "NPARAM_LINT_DEVICE": "gpu"}
    assert faults("jobs = 0\n", environ=environ, depth="-1") == [
        "environment variable NPARAM_LINT_DEVICE is 'gpu', expected one of auto, meta, cpu, "
        "cuda, mps, xpu; "
        "did you mean xpu?",
        "environment variable NPARAM_LINT_TIMEOUT is 'soon', expected a number of seconds above 0",
        "option --depth is '-1', expected a whole number from 0 up",
        "nparam-lint.toml:1:1: config key 'jobs' is 0, expected a whole number from 1 up",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("zzz = 1", "known keys: python, device, tolerance, "),
        ("Timeout = 1", "did you mean timeout?"),
        ("budget = 1", "did you mean budgets?"),
        ("extends = 'a.toml'", "did you mean extend?"),
        ("[budget]\n'a.py::A' = 1", "did you mean budgets?"),
        ("[argument]\n'a.py::A' = '1'", "did you mean arguments?"),
        ("[budgets]\n'a.py::A' = { budget = 1, why = 'x' }", "unknown config key 'why'"),
        ("[budgets]\n'a.py::A' = { budget = 1, inputs = 'x' }", "did you mean input?"),
        ("[arguments]\n'a.py::A' = { argument = 'x' }", "did you mean arguments?"),
        ("[arguments]\n'a.py::A' = { budget = 3 }", "unknown config key 'budget'"),
    ],
)
def test_an_unknown_key_is_an_error_with_a_suggestion(faults, text, fault):
    (line,) = faults(text)
    assert fault in line
    assert line.startswith(f"nparam-lint.toml:{1 + text.startswith(('[budgets', '[arguments'))}:")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('device = "cpu"\ntimeout = = 3\n', "2:11"),
        ('[budgets]\n"a.py::A" = 1\n"a.py::A" = 2\n', "3:"),  # which column, parsers disagree
        ("device = 'cpu'\n[budgets\n", "2:9"),
    ],
)
def test_invalid_toml_is_told_at_its_place(faults, text, place):
    (fault,) = faults(text)
    assert fault.startswith(f"nparam-lint.toml:{place}")
    assert ": is not valid TOML: " in fault


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "nparam-lint.toml").write_bytes(b"device = '\xff'\n")
    with pytest.raises(ConfigError, match=r"^nparam-lint.toml:1:1: cannot be read: "):
        load_settings(tmp_path, None, {}, {})


def test_comments_are_no_config_and_move_no_place(load, faults):
    assert load("# [tool.nparam-lint]\n# zzz = 1\n", name="pyproject.toml").device == "auto"
    text = """\
    # timeout = 0
    device = "cpu" # timeout = "x"
    [budgets] # "c.py::C" = 1
    # "a.py::A" = "not a count"
    "a.py::A" = 3 # = "not a count"
    """
    settings = load(text)
    assert settings.device == "cpu"
    (budget,) = settings.budgets
    assert budget.position == Position("nparam-lint.toml", 5, 1)
    assert faults("# timeout = 0\ndevice = 'cpu' # timeout\ntimeout = 0\n") == [
        "nparam-lint.toml:3:1: config key 'timeout' is 0, expected a number of seconds above 0"
    ]


def test_what_a_text_of_several_lines_holds_is_no_key(faults):
    text = """\
    arguments."a.py::A".call = "A(timeout)"
    arguments."a.py::A".setup = '''
    timeout = 0
    [budgets]
    '''
    timeout = 0
    """
    assert faults(text) == [
        "nparam-lint.toml:6:1: config key 'timeout' is 0, expected a number of seconds above 0"
    ]


# --- scalar keys ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('python = ".venv/bin/python"', {"python": ".venv/bin/python"}),
        ('device = "meta"', {"device": "meta"}),
        ("timeout = 8", {"timeout": 8.0}),
        ("timeout = 0.5", {"timeout": 0.5}),
        ('memory = "8GB"', {"memory": 8_000_000_000}),
        ('memory = "512MiB"', {"memory": 536_870_912}),
        ('memory = "1.5GiB"', {"memory": 1_610_612_736}),
        ("jobs = 4", {"jobs": 4}),
        ("depth = 0", {"depth": 0}),
        ('exclude = ["a/**", "b.py"]', {"exclude": ("a/**", "b.py")}),
        ('exclude = "a/**, b.py"', {"exclude": ("a/**", "b.py")}),
        ('select = ["NPL", "NPL013"]', {"select": ("NPL", "NPL013")}),
        ('ignore = ["NPL01"]', {"ignore": ("NPL01",)}),
        ('severity = { NPL013 = "error" }', {"severity": {"NPL013": "error"}}),
        ('format = "json"', {"format": "json"}),
    ],
)
def test_a_key_is_understood(load, text, expected):
    settings = load(text)
    assert {key: getattr(settings, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "amount", "relative"),
    [
        ('"0.5%"', Fraction(1, 2), True),
        ('"50k"', Fraction(50_000), False),
        ("1_000", Fraction(1_000), False),
    ],
)
def test_tolerances(load, text, amount, relative):
    tolerance = load(f"tolerance = {text}").tolerance
    assert (tolerance.amount, tolerance.relative) == (amount, relative)


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("python", ("3", "''", "[]", "{ amiga = 'x' }"), "expected "),
        (
            "device",
            ("3", "'gpu'", "true", "['cpu']"),
            "expected one of auto, meta, cpu, cuda, mps, xpu",
        ),
        ("tolerance", ("0.5", "'a lot'", "true", "[]", "'-1%'"), 'expected a tolerance such as "0'),
        ("timeout", ("0", "-1", "'soon'", "true", "inf", "nan", "[]"), "expected a number of sec"),
        ("memory", ("8", "'8'", "'8 gigs'", "true", "{}"), 'expected an amount such as "8GB"'),
        ("jobs", ("0", "-1", "1.5", "true", "'all'"), "expected a whole number from 1 up"),
        ("depth", ("-1", "1.0", "false", "'deep'"), "expected a whole number from 0 up"),
        ("exclude", ("3", "[3]", "{}", "true"), "expected a list of strings"),
        ("select", ("3", "['E501']", "[1]", "'NPL001 NPL002'"), "expected "),
        ("ignore", ("3", "['npl001']", "['NLP001']"), "expected "),
        ("severity", ("3", "[]"), "expected a tab"),
        (
            "severity",
            ("{ NPL999 = 'error' }",),
            "expected the code of a rule; did you mean NPL009?",
        ),
        ("severity", ("{ NPL013 = 'fatal' }",), "NPL013 = 'fatal', expected error or warning"),
        ("format", ("3", "''", "[]"), "expected a string"),
        ("budgets", ("3", "[]", "'a.py::A'"), "must be a table"),
        ("arguments", ("3", "[]", "'a.py::A'"), "must be a table"),
        ("extend", ("3", "[]"), "expected a path"),
    ],
)
def test_wrong_types_and_values_are_errors(faults, key, values, expected):
    for value in values:
        (fault,) = faults(f"\n{key} = {value}\n")
        assert fault.startswith(f"nparam-lint.toml:2:1: config key '{key}'"), value
        assert expected in fault, value


def test_the_table_itself_must_be_one(faults):
    (fault,) = faults("[[tool.nparam-lint]]\ndevice = 'cpu'\n", name="pyproject.toml")
    assert fault.startswith("pyproject.toml:1:")
    assert "must be a table" in fault


def test_an_unknown_code_is_suggested(faults):
    (fault,) = faults('select = ["NLP001"]')
    assert "did you mean NPL001?" in fault


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", "bin/python"), ("darwin", "mac/python"), ("win32", "Scripts/python.exe")],
)
def test_python_may_differ_for_each_system(load, monkeypatch, platform, expected):
    text = (
        "python = { linux = 'bin/python', macos = 'mac/python', windows = 'Scripts/python.exe' }\n"
    )
    monkeypatch.setattr(sys, "platform", platform)
    python = load(text).python
    monkeypatch.undo()
    assert python == expected


def test_python_must_be_said_for_this_system_in_known_words(faults):
    others = {"linux", "macos", "windows"} - {
        {"win32": "windows", "darwin": "macos"}.get(sys.platform, "linux")
    }
    (fault,) = faults(f"python.{others.pop()} = 'x'\n")
    assert "expected an entry for this system (linux, macos or windows)" in fault
    (fault,) = faults("python = { linux = 'x', macos = 'x', windows = 'x', windwos = 'x' }\n")
    assert "windwos" in fault


# --- environment and command line -----------------------------------------------------------


def test_the_environment_outranks_the_file_and_the_command_line_both(load):
    text = "timeout = 5\njobs = 5\ndepth = 5\nmemory = '5GB'\ntolerance = '5%'\n"
    environ = {
        "NPARAM_LINT_TIMEOUT": "8",
        "NPARAM_LINT_JOBS": "8",
        "NPARAM_LINT_DEPTH": "",
        "NPARAM_LINT_TOLERANCE": "8%",
        "NPARAM_LINT_EXCLUDE": "a/**,b/**",
        "NPARAM_LINT_SELECT": "NPL001, NPL013",
        "NPARAM_LINT_FORMAT": "json",
        "TIMEOUT": "99",
    }
    settings = load(text, environ=environ, jobs="11", depth=None, tolerance="11%")
    assert (settings.timeout, settings.jobs, settings.depth) == (8.0, 11, 5)
    assert settings.tolerance is not None
    assert settings.tolerance.text == "11%"
    assert settings.memory == 5_000_000_000
    assert settings.exclude == ("a/**", "b/**")
    assert settings.select == ("NPL001", "NPL013")
    assert settings.format == "json"


def test_who_named_the_interpreter_is_remembered(load):
    text, environ = "python = 'a'\n", {"NPARAM_LINT_PYTHON": "b"}
    settings = load(text)
    assert (settings.python, settings.python_from) == ("a", "config key 'python'")
    settings = load(text, environ=environ)
    assert (settings.python, settings.python_from) == (
        "b",
        "environment variable NPARAM_LINT_PYTHON",
    )
    settings = load(text, environ=environ, python="c")
    assert (settings.python, settings.python_from) == ("c", "option --python")


# --- budgets --------------------------------------------------------------------------------


def test_a_target_may_have_several_budgets(load, faults):
    settings = load("[budgets]\n'a.py::A' = ['3k', { budget = '<= 4k', tolerance = '1%' }]\n")
    assert [b.declared for b in settings.budgets] == ["3k", "<= 4k"]
    assert faults("[budgets]\n'a.py::A' = []\n")[0].startswith("nparam-lint.toml:2:1: ")


def test_budgets_of_every_form(load):
    settings = load(
        """\
        [budgets]
        "a.py::A" = 124_475_904
        "a.py::A[h.*]" = "7.1M ± 1%"
        "a.py::A(n=3)[enc, trainable]" = "<= 25k"
        "transformers::GPT2LMHeadModel(GPT2Config())" = "124_439_808"
        "a.py::F" = "12*n**2"

        [budgets."a.py::T"]
        budget = "124M"
        tolerance = "1%"
        reason = "the chip holds 125M"
        device = "cuda"
        setup = "c = Config(); c.kind = 'x'"
        call = "T(c)"
        input = "torch.zeros(1, 3)"

        [budgets."a.py::W"]
        budget = 3
        arguments = " 3, width=4 "

        [[budgets."a.py::L"]]
        budget = "3k"
        [[budgets."a.py::L"]]
        budget = "<= 4k"
        reason = "twice"
        """
    )
    budgets = settings.budgets
    assert [
        (str(b.target), b.selector, b.value.form, b.declared, b.position.line) for b in budgets
    ] == [
        ("a.py::A", Selector(), "plain", "124_475_904", 2),
        ("a.py::A", Selector("total", "h.*"), "around", "7.1M ± 1%", 3),
        ("a.py::A(n=3)", Selector("trainable", "enc"), "<=", "<= 25k", 4),
        (
            "transformers::GPT2LMHeadModel(GPT2Config())",
            Selector(),
            "plain",
            "124_439_808",
            5,
        ),
        ("a.py::F", Selector(), "formula", "12*n**2", 6),
        ("a.py::T", Selector(), "written", "124M", 8),
        ("a.py::W", Selector(), "plain", "3", 17),
        ("a.py::L", Selector(), "written", "3k", 21),
        ("a.py::L", Selector(), "<=", "<= 4k", 21),
    ]
    assert [b.recipe for b in budgets[:5]] == [None] * 5
    table = budgets[5]
    assert table.tolerance is not None
    assert (table.tolerance.text, table.reason, table.device) == (
        "1%",
        "the chip holds 125M",
        "cuda",
    )
    assert table.recipe == Recipe(
        setup="c = Config(); c.kind = 'x'", call="T(c)", input="torch.zeros(1, 3)"
    )
    assert budgets[6].recipe == Recipe(arguments="3, width=4")


@pytest.mark.parametrize(
    ("entry", "column", "fault"),
    [
        ("true", 1, "budget 'a.py::A' is True, expected a count or a string"),
        ("3.5", 1, "budget 'a.py::A' is 3.5, expected a count or a string"),
        ("[3, [3]]", 1, "budget 'a.py::A' is [3], expected a count or a string"),
        ("{ reason = 'x' }", 1, "budget 'a.py::A' is None, expected a count or a string"),
        ("-3", 13, "below zero"),
        ("''", 13, "found nothing, expected a count"),
        ("'86.6'", 13, "did you mean `86.6M`?"),
        ("'220 # 110'", 13, "found '# 110', expected no more"),
        ("{ budget = '3 + * 4' }", 24, "found '3 + * 4', expected a count"),
        ("'50MB'", 13, "`nparam[bytes]`"),
        ("{ budget = 3, tolerance = 'x' }", 27, "tolerance is 'x', expected a tolerance such as"),
        ("{ budget = 3, reason = 3 }", 27, "reason is 3, expected a string"),
        ("{ budget = 3, device = 'gpu' }", 27, "device is 'gpu', expected one of auto, meta, cpu"),
        (
            "{ budget = 3, call = 'A(' }",
            27,
            "call of 'a.py::A' is 'A(', which is not valid Python: ",
        ),
        (
            "{ budget = 3, setup = 'c = = 3', call = 'A' }",
            27,
            "setup of 'a.py::A' is 'c = = 3', which is not valid Python: invalid syntax",
        ),
        (
            "{ budget = 3, experts_per_token = '2 of 8' }",
            27,
            "is '2 of 8', expected a whole number",
        ),
        ("{ budget = 3, input = 3 }", 27, "input of 'a.py::A' is 3, expected a Python expression"),
        (
            "{ budget = 3, setup = 'c = 3' }",
            27,
            'needs a call that uses it, such as call = "GPT(c)',
        ),
    ],
)
def test_a_malformed_budget_is_an_error_at_its_place(faults, entry, column, fault):
    (line,) = faults(f"[budgets]\n'a.py::A' = {entry}\n")
    assert line.startswith(f"nparam-lint.toml:2:{column}: ")
    assert fault in line


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("a.py", "expected LOCATION::CALLABLE"),
        ("a.py::", "found nothing after `::`"),
        ("a.py::A(", "never closed"),
        ("a.py::A(x=)", "expected the arguments of a Python call"),
        ("a.py::A[]", "expected a metric, a module path or both"),
        ("a.py::A[trainble, x, y]", "did you mean `trainable`?"),
        ("a b::A", "expected a path such as"),
    ],
)
def test_a_malformed_target_is_an_error_at_its_place(faults, key, fault):
    for table, value in (("budgets", "3"), ("arguments", "'3'")):
        (line,) = faults(f"[{table}]\n\n'{key}' = {value}\n")
        assert line.startswith("nparam-lint.toml:3:1: ")
        assert fault in line or table == "arguments"


# --- arguments ------------------------------------------------------------------------------


def test_arguments_say_how_to_build(load):
    settings = load(
        """\
        [arguments]
        "vit/vit.py::ViT" = "image_size=256, patch_size=32"
        "gpt.py::GPT" = { setup = "c = GPT.config()", call = "GPT(c)" }
        "lazy.py::Net" = { input = "torch.zeros(1, 3)" }
        "moe.py::MoE" = { arguments = "8", experts_per_token = 2 }
        "all.py::None" = ""
        """
    )
    assert settings.arguments == {
        Target("vit/vit.py", "ViT"): Recipe("image_size=256, patch_size=32"),
        Target("gpt.py", "GPT"): Recipe(setup="c = GPT.config()", call="GPT(c)"),
        Target("lazy.py", "Net"): Recipe(input="torch.zeros(1, 3)"),
        Target("moe.py", "MoE"): Recipe("8", experts_per_token=2),
        Target("all.py", "None"): Recipe(""),
    }
    assert [p.line for p in settings.recipe_positions.values()] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ("'x ='", "arguments of 'a.py::A' is 'x =', which is not valid Python: "),
        ("3", "arguments of 'a.py::A' is 3, expected the arguments of a call, as a string"),
        ("'1) + f(2'", "which is not valid Python: more than the arguments of one call"),
        ("{ setup = 'c = 3' }", "setup of 'a.py::A' needs a call that uses it"),
        *(
            (
                f"{{ experts_per_token = {number} }}",
                f"experts_per_token of 'a.py::A' is {shown}, expected a whole number from 1 up",
            )
            for number, shown in (("0", "0"), ("-2", "-2"), ("2.0", "2.0"), ("true", "True"))
        ),
        ("{ expert_per_token = 2 }", "did you mean experts_per_token?"),
    ],
)
def test_malformed_arguments_are_an_error(faults, entry, fault):
    (line,) = faults(f"[arguments]\n'a.py::A' = {entry}\n")
    assert line.startswith(f"nparam-lint.toml:2:{15 if entry.startswith('{') else 1}: ")
    assert fault in line


# --- overrides --------------------------------------------------------------------------------


def test_overrides_hold_for_the_files_that_they_name_the_last_on_top(load):
    settings = load(
        """
        tolerance = "1%"
        ignore = ["NPL013"]
        [severity]
        NPL010 = "error"

        [[overrides]]
        files = ["zoo/**", "!zoo/exact.py"]
        tolerance = "5%"
        ignore = ["NPL1"]
        severity = { NPL001 = "warning" }

        [[overrides]]
        files = ["zoo/huge.py"]
        device = "meta"
        """
    )
    assert settings.for_file("nets/a.py") == settings
    assert settings.for_file("zoo/exact.py") == settings
    zoo, huge = settings.for_file("zoo/a.py"), settings.for_file("zoo/huge.py")
    assert (zoo.tolerance.text, zoo.device) == ("5%", "auto")
    assert zoo.ignore == ("NPL013", "NPL1")
    assert zoo.severity == {"NPL010": "error", "NPL001": "warning"}
    assert (huge.tolerance.text, huge.device) == ("5%", "meta")


def test_faults_of_overrides_are_told_at_their_own_lines(faults):
    assert faults(
        """\
        [[overrides]]
        files = ["a.py"]
        tolerence = "5%"

        [[overrides]]
        ignore = ["NPL1"]

        [[overrides]]
        files = 3
        device = "gpu"
        severity = { NPL001 = "fatal" }
        """
    ) == [
        "nparam-lint.toml:3:1: unknown config key 'tolerence'; did you mean tolerance?",
        'nparam-lint.toml:5:3: overrides: expected files = ["zoo/**"], the files that they '
        "apply to",
        "nparam-lint.toml:9:1: overrides: key 'files' is 3, expected a list of strings",
        "nparam-lint.toml:10:1: overrides: key 'device' is 'gpu', "
        "expected one of auto, meta, cpu, cuda, mps, xpu; did you mean xpu?",
        "nparam-lint.toml:11:1: overrides: key 'severity' is NPL001 = 'fatal', "
        "expected error or warning",
    ]
    assert faults("overrides = 3\n") == [
        "nparam-lint.toml:1:1: config key 'overrides' must be tables: "
        "[[tool.nparam-lint.overrides]]"
    ]
