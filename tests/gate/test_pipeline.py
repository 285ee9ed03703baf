"""The whole way from source to findings, on projects that are really built and counted."""

import json
import shutil

import pytest
from model_source import TORCH, model_class
from sample_files import write_files
from sample_repository import Sample

NET = TORCH + model_class("Net", "self.layer = nn.Linear(3, 3)", doc="nparam: {}")
CONFIGURED = TORCH + model_class(
    "Net",
    'self.layer = nn.Linear(config["n"], config["n"])',
    doc="nparam(config(n=2)): 6",
    takes="config",
)
RECIPES = """\
[arguments]
"net.py::Net" = { setup = "def config(n): return {'n': n}", call = "Net(config(3))" }

[budgets]
"net.py::Net" = 12
"net.py::Net(config(4))" = 20
"net.py::Net[layer]" = { budget = 30, arguments = "config(5)" }
"net.py::Net[0.layer]" = { budget = 42, call = "nn.Sequential(Net(config(6)))" }
"net.py::Net[total]" = { budget = 6, setup = "config = dict", call = "Net(config(n=2))" }
"""
MISSING = TORCH + "\n".join(
    [
        model_class("Known", takes="width=64, vocab_size=0, depth=-1, bias=False"),
        model_class("Net", takes="width, vocab_size, depth, bias"),
    ]
)
VIT = TORCH + model_class(
    "ViT", "self.layer = nn.Linear(size, patch)", doc="nparam: 132", takes="size, patch"
)
EXPERTS = TORCH + "\n".join(
    [
        model_class(
            "MoE",
            "self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(8))",
            doc="nparam(width=3)[active]: 24",
            takes="width=2",
        ),
        model_class(
            "Odd",
            "self.experts = nn.ModuleList(nn.Linear(n, n) for n in range(1, 3))",
            doc="nparam[active]: 24",
        ),
    ]
)
# A declared model that hides a layer in a list, which the source shows and the count too; and one
# whose source alone accuses it of never being initialised.
HIDDEN = TORCH + "\n".join(
    [
        model_class(
            "Net",
            "self.fc = nn.Linear(2, 2)",
            "self.more = [nn.Linear(2, 3)]",
            doc="A net.\n\n    nparam: 6\n    ",
        ),
        model_class("Alone", "self.more = [nn.Linear(n, n)]", takes="n"),
    ]
)
SILENCED = (
    HIDDEN.replace("Linear(2, 3)]", "Linear(2, 3)]  # nparam: ignore[NPL010, NPL101]")
    .replace("Linear(n, n)]", "Linear(n, n)]  # nparam: ignore[NPL101]")
    .replace("Linear(2, 2)", "Linear(2, 2)  # nparam: ignore[NPL101]")
)
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
WRITTEN = {
    "proposed": {"net.py": MISSING},
    "missing": {
        "vit.py": VIT,
        "given.toml": '[arguments]\n"vit.py::ViT" = "size=32, patch=4"\n',
    },
    "setup": {"net.py": CONFIGURED, "nparam-lint.toml": RECIPES},
    "experts": {
        "moe.py": EXPERTS,
        "entry.toml": '[arguments]\n"moe.py::MoE" = "2"\n',
        "two.toml": '[arguments]\n"moe.py::MoE" = { experts_per_token = 2 }\n',
    },
    # One that cannot be read costs no other its count.
    "unreadable": {
        "good.py": NET.format("12"),
        "broken.py": "from torch import nn\n\nclass Net(nn.Module:\n    '''nparam: 3'''\n",
        "needy.py": "from nosuchpackage import Base\n\nclass Net(Base):\n    'nparam: 3'\n",
    },
    "hidden": {
        "net.py": HIDDEN,
        "early.py": EARLY,
        "other.py": HIDDEN.replace("nparam: 6", ""),
    },
    "silenced": {"net.py": SILENCED},
    "plain": {"plain.py": "def one():\n    return 1\n"},
    "undeclared": {
        "strict.toml": 'select = ["NPL"]\nignore = ["NPL013"]\nseverity = { NPL012 = "error" }\n',
        "whole.toml": "budgets.'model.py::Whole' = 41\n",
    },
}
COUNTS = "check -v --depth 0 --device meta"
FINDINGS = "check --device meta --format concise"
# What is checked of each project.
COMMANDS = {
    **dict.fromkeys("right drift stale default_config recipes installed".split(), COUNTS),
    "layouts": f"{COUNTS}\n{COUNTS} one two/model.py --no-cache",  # paths
    "devices": "check -v --depth 0 --device cpu",
    "undeclared": f"""
        {COUNTS}
        {COUNTS} --declared
        {FINDINGS} --config strict.toml
        {COUNTS} --declared --config whole.toml
    """,
    # Of values that the project has those are proposed that say something.
    "proposed": COUNTS,
    "missing": f"{COUNTS}\n{COUNTS} --config given.toml",
    # What the setup of a recipe makes can stand in other arguments.
    "setup": f"{COUNTS}\nshow 'net.py::Net(config(n=7))' -v --device meta",
    "experts": f"""
        {COUNTS}
        {COUNTS} --config entry.toml
        {FINDINGS} --config two.toml
    """,
    "unreadable": COUNTS,
    # What was built is not told once more from the source; `--static` builds nothing.
    "hidden": f"""
        {FINDINGS} net.py early.py
        {FINDINGS} net.py early.py --ignore NPL010
        {FINDINGS} --declared
        {FINDINGS} --static --python /nonexistent/python
    """,
    # A comment silences both, and an unused one is told.
    "silenced": f"{FINDINGS}\n{FINDINGS} --declared",
    "plain": "check --python plain.py",  # nothing to check starts no interpreter
}


@pytest.fixture
def place(project, tmp_path):
    """The projects side by side."""
    for name in COMMANDS:
        if name == "undeclared" or name not in WRITTEN:
            shutil.copytree(project(name), tmp_path / name)
        write_files(tmp_path / name, WRITTEN.get(name, {}))
    (tmp_path / "unreadable/latin.py").write_bytes(b"class Net:\n    '''nparam: \xff'''\n")
    return tmp_path


def test_what_is_counted_and_found(transcript, expected):
    said = {}
    for name, commands in COMMANDS.items():
        texts = transcript(commands, columns=100, cwd=name)
        said |= {f"{name}: {command}": text for command, text in texts.items()}
    expected(said)


def test_what_git_ignores_and_what_is_excluded_is_left_out(nparam_lint, tmp_path, environ):
    left_out = "build/net.py scratch.py third_party/a/net.py nets/net_old.py".split()
    sample = Sample.create(tmp_path / "project", environ)
    config = 'device = "meta"\nexclude = ["third_party/**", "*_old.py"]\n'
    files = {
        ".gitignore": "build/\nscratch.py\n",
        "nparam-lint.toml": config,
        **dict.fromkeys(left_out, NET.format("99")),
        "nets/untracked.py": NET.format("12"),
    }
    sample.write(files)
    sample.add({"net.py": NET.format("12")})
    text = nparam_lint(cwd=sample.path).stdout
    assert "2 models: 2 measured · 2 budgets hold" in text
    paths = ("build", "third_party/a/net.py")
    lines = nparam_lint(*paths, "--format", "concise", cwd=sample.path).stdout.splitlines()
    places = ["build/net.py:4:16:", "third_party/a/net.py:4:16:"]
    assert [line.partition(" ")[0] for line in lines] == places


# --- devices --------------------------------------------------------------------------------


@pytest.fixture
def on_device(project, nparam_lint):
    """The findings about a project with models for devices, and what its first model says."""

    def run(device, name="devices"):
        root = project(name)
        report = json.loads(nparam_lint("--device", device, "--format", "json", cwd=root).stdout)
        places = [f"{f['path']}:{f['line']} {f['code']}" for f in report["findings"]]
        return places, report

    return run


def has_cuda():
    import torch

    return torch.cuda.is_available()


def test_what_needs_an_input_is_counted_on_the_cpu(on_device):
    _, report = on_device("meta", "recipes")
    on_cpu = [m["target"] for m in report["models"] if "cpu" in (m["devices"] or ())]
    assert on_cpu == ["lazy.py::Shaped"]


def test_cuda_that_is_required_and_not_there_is_a_finding(on_device):
    if has_cuda():
        pytest.skip("there is a CUDA device: nothing is missing")
    places, report = on_device("cuda")
    assert places == ["model.py:5 NPL006", "model.py:14 NPL004"]
    assert "which is required" in report["findings"][0]["message"]
    places, report = on_device("auto")
    assert places == ["model.py:14 NPL004"]
    assert report["models"][0]["devices"]["cuda"]["status"] == "skipped"


@pytest.mark.cuda
def test_cuda_is_compared_with_meta_parameter_by_parameter(on_device):
    if not has_cuda():
        pytest.skip("needs a CUDA device")
    for device in ("auto", "cuda"):
        places, report = on_device(device)
        assert places == ["model.py:14 NPL004"]
        on_cuda = report["models"][0]["devices"]["cuda:0"]
        assert (on_cuda["status"], on_cuda["total"]) == ("measured", 20)
        assert on_cuda["bytes"] >= 4 * 20
        message = report["findings"][0]["message"]
        assert "different parameters on meta and on the CPU" in message


# --- what is not there -----------------------------------------------------------------------


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
