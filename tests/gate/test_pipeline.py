"""The whole way from source to findings, on sample projects that are really built and counted."""

import shutil
import sys

import pytest
from model_source import TORCH, model_class
from sample_files import write_files
from sample_repository import Sample

from nparam_lint.analysis.formula_analysis import ANALYSIS
from nparam_lint.config.session import open_session
from nparam_lint.count.measured import Measured
from nparam_lint.gate import check, show
from nparam_lint.ground.notation import parse_target
from nparam_lint.ground.values import Position

PROJECTS = "right layouts drift stale default_config recipes installed undeclared devices".split()


@pytest.fixture
def place(project, tmp_path):
    """The sample projects side by side."""
    for name in PROJECTS:
        shutil.copytree(project(name), tmp_path / name)
    return tmp_path


# What is checked of a project: all, some paths, what is declared, with other rules, its source.
COMMANDS = {
    **dict.fromkeys(PROJECTS, "check -v --depth 0 --device meta"),
    "layouts": """
check -v --depth 0 --device meta
check one two/model.py -v --depth 0 --device meta --no-cache
""",
    "devices": "check -v --depth 0 --device cpu",
    "undeclared": """
check -v --depth 0 --device meta
check --declared --format concise
check --config strict.toml --format concise --device meta
""",
}


STRICT = 'select = ["NPL"]\nignore = ["NPL013"]\nseverity = { NPL012 = "error" }\n'


def test_what_is_counted_and_found(place, transcript, expected):
    write_files(place, {"undeclared/strict.toml": STRICT})
    said = {}
    for name, commands in COMMANDS.items():
        texts = transcript(commands, columns=100, cwd=name)
        said |= {f"{name}: {command}": text for command, text in texts.items()}
    expected(said)


@pytest.fixture(scope="module")
def session_of(environ):
    """A run on the project at a directory; on the meta device unless told otherwise."""

    def opened(root, **options):
        options = {"device": "meta", "python": sys.executable, **options}
        return open_session(root, environ, options=options, remembers=False)

    return opened


@pytest.fixture(scope="module")
def checked(session_of):
    """The report on the project at a directory."""

    def run(root, *paths, declared_only=False, static_only=False, **options):
        only = {"declared_only": declared_only, "static_only": static_only}
        return check(session_of(root, **options), paths, **only, analysis=ANALYSIS)

    return run


def found(report):
    """Every finding as `path:line CODE`, in the report's order."""
    return [f"{f.position.path}:{f.position.line} {f.code}" for f in report.findings]


def model(report, target):
    (wanted,) = [m for m in report.models if m.target == target]
    return wanted


def totals(report):
    """The count of each target; of one that is built in several ways, a list of them."""
    counts = {}
    for m in report.models:
        if isinstance(m.measurement, Measured):
            counts.setdefault(m.target, []).append(m.measurement.counts.total)
    return {target: many if many[1:] else many[0] for target, many in counts.items()}


def finding(report, code, target=None):
    (wanted,) = [
        f for f in report.findings if f.code == code and (target is None or f.target == target)
    ]
    return wanted


NET = TORCH + model_class("Net", "self.layer = nn.Linear(3, 3)", doc="nparam: {}")
# --- how to build ---------------------------------------------------------------------------


def test_missing_arguments_are_named_with_the_config_to_paste(checked, tmp_path):
    similar = model_class("Known", takes="width=64, vocab_size=0, depth=-1, bias=False")
    net = model_class("Net", takes="width, vocab_size, depth, bias")
    layer = "self.layer = nn.Linear(size, patch)"
    vit = model_class("ViT", layer, doc="nparam: 132", takes="size, patch")
    write_files(tmp_path, {"net.py": f"{TORCH}{similar}\n{net}\n{vit}"})
    report = checked(tmp_path)
    # Of values that the project has those that say something.
    *_, line = report.recipes["net.py::Net"]
    assert line == '"net.py::Net" = "width=64, vocab_size=…, depth=…, bias=False"'
    missing = finding(report, "NPL004")
    assert missing.message == "ViT needs size, patch"
    _, *pasted = missing.detail
    assert pasted == ["[tool.nparam-lint.arguments]", '"net.py::ViT" = "size=…, patch=…"']
    assert [(b.ok, b.actual) for b in model(report, "net.py::ViT").budgets] == [(False, None)]
    config = "\n".join(pasted).replace("size=…, patch=…", "size=32, patch=4")
    report = checked(write_files(tmp_path, {"pyproject.toml": config}))
    assert report.findings == ()
    assert model(report, "net.py::ViT").measurement.call == "ViT(size=32, patch=4)"


def test_what_needs_an_input_is_counted_on_the_cpu(checked, project):
    models = checked(project("recipes")).models
    assert [m.target for m in models if "cpu" in m.measurement.devices] == ["lazy.py::Shaped"]


def test_what_the_setup_of_a_recipe_makes_can_stand_in_other_arguments(session_of, tmp_path):
    layer = 'self.layer = nn.Linear(config["n"], config["n"])'
    net = TORCH + model_class("Net", layer, doc="nparam(config(n=2)): 6", takes="config")
    config = """\
[arguments]
"net.py::Net" = { setup = "def config(n): return {'n': n}", call = "Net(config(3))" }

[budgets]
"net.py::Net" = 12
"net.py::Net(config(4))" = 20
"net.py::Net[layer]" = { budget = 30, arguments = "config(5)" }
"net.py::Net[0.layer]" = { budget = 42, call = "nn.Sequential(Net(config(6)))" }
"net.py::Net[total]" = { budget = 6, setup = "config = dict", call = "Net(config(n=2))" }
"""
    write_files(tmp_path, {"net.py": net, "nparam-lint.toml": config})
    session = session_of(tmp_path)
    report = check(session, [])
    assert report.findings == ()
    assert sorted(m.measurement.call for m in report.models) == [
        "Net(config(3))",
        "Net(config(4))",
        "Net(config(5))",
        "Net(config(n=2))",
        "Net(config(n=2))",
        "nn.Sequential(Net(config(6)))",
    ]
    shown = show(session, [parse_target("net.py::Net(config(n=7))")])
    assert totals(shown) == {"net.py::Net(config(n=7))": 56}
    (net,) = shown.models
    parameters = [(p.name, p.shape) for p in net.measurement.parameters]
    assert parameters == [("layer.weight", (7, 7)), ("layer.bias", (7,))]


MOE = model_class(
    "MoE",
    "self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(8))",
    doc="nparam(width=3)[active]: 24",
    takes="width=2",
)
ODD = model_class(
    "Odd",
    "self.experts = nn.ModuleList(nn.Linear(n, n) for n in range(1, 3))",
    doc="nparam[active]: 24",
)


def test_the_config_to_paste_says_how_many_experts_a_token_uses(checked, tmp_path):
    write_files(tmp_path, {"moe.py": f"{TORCH}{MOE}\n{ODD}"})
    unknown = finding(checked(tmp_path), "NPL002", "moe.py::MoE(width=3)")
    assert unknown.detail[1:] == (
        "say how many a token uses, in pyproject.toml:",
        "[tool.nparam-lint.arguments]",
        '"moe.py::MoE" = { experts_per_token = … }',
    )
    odd = finding(checked(tmp_path), "NPL002", "moe.py::Odd")
    assert len(odd.detail) == 1  # which declares nothing that is not known
    arguments = "\n".join(unknown.detail[2:]).replace("tool.nparam-lint.", "")
    write_files(tmp_path, {"nparam-lint.toml": '[arguments]\n"moe.py::MoE" = "2"\n'})
    known = finding(checked(tmp_path), "NPL002", "moe.py::MoE(width=3)")
    assert known.detail[1:] == ("add experts_per_token = … to its entry at nparam-lint.toml:2",)
    write_files(tmp_path, {"nparam-lint.toml": arguments.replace("…", "2")})
    assert found(checked(tmp_path)) == ["moe.py:11 NPL002"]


# --- reaching the source --------------------------------------------------------------------


def test_a_file_that_cannot_be_read_costs_no_other_its_count(checked, tmp_path):
    files = {
        "good.py": NET.format("12"),
        "broken.py": "from torch import nn\n\nclass Net(nn.Module:\n    '''nparam: 3'''\n",
        "needy.py": "from nosuchpackage import Base\n\nclass Net(Base):\n    'nparam: 3'\n",
    }
    write_files(tmp_path, files)
    (tmp_path / "latin.py").write_bytes(b"class Net:\n    '''nparam: \xff'''\n")
    report = checked(tmp_path)
    assert totals(report) == {"good.py::Net": 12}
    assert model(report, "good.py::Net").findings == ()
    assert [(f.code, f.position.path) for f in report.findings] == [
        ("NPL003", "broken.py"),
        ("NPL003", "latin.py"),
        ("NPL003", "needy.py"),
    ]
    broken, latin, needy = report.findings
    assert broken.position.line == 3
    assert "cannot be parsed" in broken.message
    assert latin.position.line == 2
    assert "cannot be decoded" in latin.message
    assert "No module named 'nosuchpackage'" in needy.message
    assert any(line.startswith("install 'nosuchpackage' into ") for line in needy.detail)


def test_what_git_ignores_and_what_is_excluded_is_left_out(checked, tmp_path, environ):
    left_out = "build/net.py scratch.py third_party/a/net.py nets/net_old.py".split()
    sample = Sample.create(tmp_path / "project", environ)
    files = {
        ".gitignore": "build/\nscratch.py\n",
        "nparam-lint.toml": 'exclude = ["third_party/**", "*_old.py"]\n',
        **dict.fromkeys(left_out, NET.format("99")),
        "nets/untracked.py": NET.format("12"),
    }
    sample.write(files)
    sample.add({"net.py": NET.format("12")})
    root = sample.path
    report = checked(root)
    assert report.findings == ()
    assert totals(report) == {"net.py::Net": 12, "nets/untracked.py::Net": 12}
    report = checked(root, root / "build", root / "third_party" / "a" / "net.py")
    assert found(report) == ["build/net.py:4 NPL001", "third_party/a/net.py:4 NPL001"]


# --- what nobody declared -------------------------------------------------------------------


def test_under_the_hook_a_budget_in_the_config_brings_its_model_alone(checked, project):
    root = write_files(project("undeclared"), {"nparam-lint.toml": WHOLE})
    report = checked(root, declared_only=True)
    assert totals(report) == {"model.py::Whole": 40, "model.py::Declared": 12}
    assert model(report, "model.py::Whole").position == Position("model.py", 10, 1)
    assert found(report) == ["nparam-lint.toml:1 NPL001"]


WHOLE = "budgets.'model.py::Whole' = 41\n"


def test_nothing_to_check_starts_no_interpreter(tmp_path, checked):
    write_files(tmp_path, {"plain.py": "def one():\n    return 1\n"})
    report = checked(tmp_path, python=str(tmp_path / "plain.py"))
    assert (report.models, report.findings, report.environment) == ((), (), None)
    assert (report.files, report.error) == (1, None)


# --- devices --------------------------------------------------------------------------------


def has_cuda():
    import torch

    return torch.cuda.is_available()


def test_cuda_that_is_required_and_not_there_is_a_finding(checked, project):
    if has_cuda():
        pytest.skip("there is a CUDA device: nothing is missing")
    report = checked(project("devices"), device="cuda")
    assert found(report) == ["model.py:5 NPL006", "model.py:14 NPL004"]
    assert "which is required" in report.findings[0].message
    assert totals(report) == {"model.py::Same": 20}
    report = checked(project("devices"), device="auto")
    assert found(report) == ["model.py:14 NPL004"]
    assert model(report, "model.py::Same").measurement.devices["cuda"].status == "skipped"


@pytest.mark.cuda
def test_cuda_is_compared_with_meta_parameter_by_parameter(checked, project):
    if not has_cuda():
        pytest.skip("needs a CUDA device")
    for device in ("auto", "cuda"):
        report = checked(project("devices"), device=device)
        same = model(report, "model.py::Same")
        assert same.findings == ()
        on_cuda = same.measurement.devices["cuda:0"]
        assert (on_cuda.status, on_cuda.total) == ("measured", 20)
        assert on_cuda.bytes >= 4 * 20
        assert "different parameters on meta and on the CPU" in finding(report, "NPL004").message


# --- the source beside what was built -------------------------------------------------------------


EARLY = """
from torch import nn
class Block(nn.Module):
    def __init__(self, n):
        if n > 9:
            self.norm = nn.LayerNorm(n)
        super().__init__()
class Net(nn.Module):
    def __init__(self, n=2):
        if n > 9:
            self.norm = nn.LayerNorm(n)
        super().__init__()
        self.block = Block(n)
"""


@pytest.fixture
def hidden(tmp_path):
    """A declared model that hides a layer in a list, which the source shows and the count too; and
    one whose source alone accuses it of never being initialised."""
    lists = "self.fc = nn.Linear(2, 2)", "self.more = [nn.Linear(2, 3)]"
    net = model_class("Net", *lists, doc="A net.\n\n    nparam: 6\n    ")
    alone = model_class("Alone", "self.more = [nn.Linear(n, n)]", takes="n")
    return write_files(tmp_path, {"net.py": f"{TORCH}{net}\n{alone}", "early.py": EARLY})


def test_what_was_built_is_not_told_once_more_from_the_source(checked, hidden):
    assert found(checked(hidden)) == ["net.py:12 NPL010", "net.py:17 NPL101"]
    assert found(checked(hidden, ignore="NPL010")) == ["net.py:12 NPL101", "net.py:17 NPL101"]


def test_under_the_hook_the_source_of_declared_models_is_looked_through(checked, hidden):
    write_files(hidden, {"other.py": (hidden / "net.py").read_text().replace("nparam: 6", "")})
    assert found(checked(hidden, declared_only=True)) == ["net.py:12 NPL010", "net.py:17 NPL101"]


def test_a_comment_silences_both_and_an_unused_one_is_told(checked, hidden):
    text = (hidden / "net.py").read_text()
    text = text.replace("Linear(2, 3)]", "Linear(2, 3)]  # nparam: ignore[NPL010, NPL101]")
    text = text.replace("Linear(n, n)]", "Linear(n, n)]  # nparam: ignore[NPL101]")
    text = text.replace("Linear(2, 2)", "Linear(2, 2)  # nparam: ignore[NPL101]")
    write_files(hidden, {"net.py": text})
    report = checked(hidden)
    assert found(report) == ["net.py:11 NPL015"]
    assert found(checked(hidden, declared_only=True)) == []


def test_static_only_builds_nothing(hidden, checked):
    report = checked(hidden, static_only=True, python="/nonexistent/python")
    assert report.source_only
    assert report.models == ()
    early = ["early.py:6 NPL103", "early.py:11 NPL103"]
    assert found(report) == [*early, "net.py:12 NPL101", "net.py:17 NPL101"]


def test_what_a_partial_clone_lacks_is_said(tmp_path, environ, nparam_lint):
    source = Sample.create(tmp_path / "source", environ)
    net = TORCH + model_class("Net", "self.layer = nn.Linear(2, 3)", doc="nparam: 12")
    source.committed({"nets/net.py": net, "nets/a.png": "", "a.py": ""})
    source.git("config", "uploadpack.allowFilter", "true")
    clone = Sample(tmp_path / "clone", source.environ)
    lazy = ("clone", "--quiet", "--filter=blob:none", "--no-checkout")
    source.git(*lazy, source.path.as_uri(), clone.path)
    clone.git("sparse-checkout", "set", "--no-cone", "/a.py")
    clone.git("checkout", "--quiet")

    def checked(*options):
        options = "--staged", "--declared", "--format", "concise", *options
        done = nparam_lint(*options, cwd=clone.path, **clone.environ)
        return done.returncode, done.stdout

    where = "outside of the sparse checkout, not in this clone"
    said = f"nets/net.py:1:1: error: NPL003 not checked: nets/net.py, {where}\n"
    assert checked() == (1, said)
    assert checked("nets/net.py") == (1, said)
    assert checked("a.py") == (1, said.replace("nets/net.py:", "a.py:", 1))  # which it may import
    clone.git("cat-file", "-p", "HEAD:nets/net.py")  # which fetches it
    said = "nets/net.py:4:16: error: NPL001 Net has 9 parameters, declared 12: -3 (-25.00 %)\n"
    assert checked() == (1, said)
