"""`nparam-lint diff` as a user meets it: real git, real models, exit codes, and nothing touched."""

from __future__ import annotations

import json
import os
import re

import pytest
from sample_repository import AWKWARD, GIT, Sample

# Five models, and what became of them.
GPT = '''\
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.fc = nn.Linear(d, 4 * d)
        self.proj = nn.Linear(4 * d, d)


class GPT(nn.Module):
    """A small one.

    nparam: 5_856
    """

    def __init__(self, n_layer=2, d=16):
        super().__init__()
        self.wte = nn.Embedding(100, d)
        self.h = nn.ModuleList(Block(d) for _ in range(n_layer))
        self.head = nn.Linear(d, 100, bias=False)
        self.head.weight = self.wte.weight
'''
CONV = """\
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 8, 3))
        self.head = nn.Linear(8, 10)


class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)


class Needs(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 4)
"""
VIT = """\
import torch.nn as nn


class ViT(nn.Module):
    def __init__(self, depth, dim):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
"""
CONFIG = """\
[arguments]
"nets/vit.py::ViT" = "depth=2, dim=4"
[budgets]
"nets/vit.py::ViT" = 40
"""
FILES = {
    "nets/gpt.py": GPT,
    "nets/conv.py": CONV,
    "nets/vit.py": VIT,
    "nparam-lint.toml": CONFIG,
}
WIDER = GPT.replace("4 * d", "5 * d")


def layer(name, size, docstring=""):
    """A model of one layer."""
    head = f"import torch.nn as nn\n\n\nclass {name}(nn.Linear):\n"
    head += f'    """{docstring}"""\n\n' if docstring else ""
    return f"{head}    def __init__(self):\n        super().__init__({size})\n"


@pytest.fixture
def sample(tmp_path, environ):
    """A repository with one commit, at a path as users have them."""
    made = Sample.create(tmp_path / AWKWARD, environ)
    made.committed(FILES)
    return made


@pytest.fixture
def diff(sample, nparam_lint):
    """Runs `nparam-lint diff` there, and looks whether anything was touched."""

    def run(*arguments, code=0, cwd=None, **more):
        before = sample.state()
        done = nparam_lint(
            "diff", *arguments, "--device", "meta", cwd=cwd or sample.path, **GIT | more
        )
        assert sample.state() == before
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if code != 2 else done.stderr

    return run


def models(text):
    return {model["target"]: model for model in json.loads(text)["models"]}


# --- what changed -----------------------------------------------------------------------------

# More models: what they were, and what they are.
ALSO = {
    # a budget that was changed with its model
    "explained.py": [
        layer("Explained", "3, 4", "nparam: 16"),
        layer("Explained", "3, 5", "nparam: 20"),
    ],
    # a finding that is ignored where it stands
    "ignored.py": [
        layer("Ignored", "3, 4"),
        layer("Ignored", "3, 5").replace("Linear):", "Linear):  # nparam: ignore[NPL014]"),
    ],
    # a declared model that is not measured any more, and one that nobody declares
    "lost.py": [
        layer("Lost", "3, 4", "nparam: 16") + layer("Bare", "3, 4"),
        (layer("Lost", "3, d", "nparam: 16") + layer("Bare", "3, d")).replace("self)", "self, d)"),
    ],
    # a file that cannot be parsed has lost no model
    "broken.py": [layer("Unread", "3, 4"), layer("Unread", "3, 4") + "def broken(:\n"],
    # what the base lacks is not for git to add now
    "lacking.py": ["from helper import WIDTH\n" + layer("Lacking", "3, WIDTH")] * 2,
}


def test_everything_that_can_happen_between_a_commit_and_the_working_tree(sample, diff, expected):
    said = {}

    def note(*arguments, name="", **more):
        text = diff(*arguments, COLUMNS="120", **more)
        text = re.sub(r"\s·\s+[0-9.]+\s+s$", "", text, flags=re.MULTILINE)
        text = re.sub(r"^/.* · torch .*$", "INTERPRETER", text, flags=re.MULTILINE)
        words = " ".join(["diff", *arguments, name])
        said[words.strip()] = re.sub(r"\([0-9a-f]{7}\)", "(COMMIT)", text)

    sample.committed({name: then for name, (then, _) in ALSO.items()})
    os.utime(sample.path / "nets" / "gpt.py", (1, 1))  # which git would note in the index
    note("HEAD", name="where nothing changed")
    assert sample.git("status", "--porcelain") == ""

    sample.add({"nets/gpt.py": WIDER})
    sample.write({"nets/gpt.py": GPT.replace("4 * d", "6 * d"), "nets/more.py": CONV})
    note("HEAD", "--staged", name="where more is not staged")
    note(
        "HEAD",
        "nets/gpt.py",
        "nets/more.py",
        "--format",
        "concise",
        name="of which a part is staged",
    )
    sample.write({"nets/more.py": None})

    sample.git("mv", "nets/vit.py", "nets/vision.py")
    conv = CONV[: CONV.index("class Old")] + CONV[CONV.index("class Needs") :]
    gpt = WIDER.replace("        self.head.weight = self.wte.weight\n", "")
    sample.write(
        {
            "nets/gpt.py": gpt,
            "nets/conv.py": conv.replace("self.encoder", "self.backbone"),
            "nets/new.py": layer("Probe", "3, 5"),
            "nparam-lint.toml": CONFIG.replace("vit.py", "vision.py").replace("depth=2", "depth=3"),
            "helper.py": "WIDTH = 4\n",
        }
        | {name: now for name, (_, now) in ALSO.items()}
    )
    note("HEAD", "--tolerance", "0.5%", code=1)
    note("HEAD", "vit.py", "--format", "concise", cwd=sample.path / "nets")
    sample.write({"nets/gpt.py": None})
    note("HEAD", "nets/gpt.py", name="which is gone")
    expected(said)


def test_what_one_side_builds_with_arguments_is_built_on_the_other(sample, diff):
    """By a budget of the base, by one of today, by a recipe, by today's config."""
    at_base = GPT.replace("nparam: 5_856", "nparam(n_layer=4): 10_112")
    sample.git("rm", "--quiet", "nparam-lint.toml")
    sample.committed({"nets/gpt.py": at_base})
    recipe = '"nets/gpt.py::GPT" = { budget = 7984, setup = "n = 3", call = "GPT(n)" }\n'
    today = GPT.replace("nparam: 5_856", "nparam(n_layer=5): 12_240")
    sample.write({"nets/gpt.py": today, "nparam-lint.toml": CONFIG + recipe})
    text = diff("HEAD", "--declared", "--format", "json", "--tolerance", "0")
    found = json.loads(text)["models"]
    assert [(m["target"], m["status"], m["call_before"], m["delta"]) for m in found] == [
        ("nets/gpt.py::GPT", "same", "GPT()", 0),
        ("nets/gpt.py::GPT", "same", "GPT(n)", 0),
        ("nets/gpt.py::GPT(n_layer=4)", "same", "GPT(n_layer=4)", 0),
        ("nets/gpt.py::GPT(n_layer=5)", "same", "GPT(n_layer=5)", 0),
        ("nets/vit.py::ViT", "same", "ViT(depth=2, dim=4)", 0),
    ]


# --- what is compared -------------------------------------------------------------------------


def test_three_dots_are_the_merge_base(sample, diff):
    sample.git("switch", "--quiet", "--create", "topic")
    sample.committed({"nets/gpt.py": WIDER})
    sample.git("switch", "--quiet", "main")
    sample.committed({"nets/conv.py": CONV.replace("(8, 10)", "(8, 11)")})
    sample.git("switch", "--quiet", "topic")
    document = json.loads(diff("main...", "--format", "json"))
    assert document["base"] == {
        "revision": "main...",
        "commit": sample.git("merge-base", "main", "topic"),
        "called": "the merge base with main",
    }
    changed = [m["target"] for m in document["models"] if m["status"] == "changed"]
    assert changed == ["nets/gpt.py::Block", "nets/gpt.py::GPT"]
    text = diff("main", "--format", "concise")
    assert re.findall(r"^\S+ (\w+) ", text, re.MULTILINE) == ["Net", "Block", "GPT"]


def test_a_project_in_a_directory_that_was_not_there_yet_or_had_another_name(sample, diff):
    sample.git("mv", "nparam-lint.toml", "nets/nparam-lint.toml")
    sample.write({"nets/nparam-lint.toml": CONFIG.replace("nets/", "")})
    sample.git("add", "--all")
    sample.git("commit", "--quiet", "--message", "a project of its own")
    sample.git("mv", "nets", "models")
    found = models(diff("HEAD", "--format", "json", cwd=sample.path / "models"))
    names = ["conv.py::Net", "conv.py::Old", "gpt.py::Block", "gpt.py::GPT", "vit.py::ViT"]
    assert {target: m["status"] for target, m in found.items()} == dict.fromkeys(names, "same")
    sample.write({"other/nparam-lint.toml": "", "other/x.py": layer("New", "3, 4")})
    text = diff("HEAD", cwd=sample.path / "other", COLUMNS="80")
    assert text.splitlines()[1:5] == [
        "it did not exist at HEAD: everything is new",
        "",
        "x.py",
        "  + New  16  new",
    ]


def test_the_interpreter_the_limits_and_what_is_excluded_are_todays(sample, diff):
    sample.committed({"nparam-lint.toml": f'python = "gone/bin/python"\ntimeout = 0.1\n{CONFIG}'})
    sample.write({"nparam-lint.toml": f'exclude = ["conv.py"]\n{CONFIG}'})
    text = diff("HEAD")
    assert text.startswith("No change since HEAD (")
    assert "): 3 models · " in text


# --- how it comes out -------------------------------------------------------------------------


def test_a_file_gets_the_document_the_log_the_text_and_the_page_of_the_run_a_table(
    sample, diff, tmp_path
):
    sample.write({"nets/gpt.py": WIDER})
    out, page = tmp_path / "log", tmp_path / "page.md"
    page.write_text("before\n")
    text = diff(
        *("HEAD", "nets/gpt.py", "--tolerance", "0", "--format", "github", "--output-file", out),
        code=1,
        GITHUB_STEP_SUMMARY=str(page),
    )
    assert text.startswith("HEAD (")
    assert out.read_text("utf-8").startswith(
        "::error file=nets/gpt.py,line=11,col=1,title=NPL014 unexplained-drift::GPT has 6,912 "
    )
    assert page.read_text("utf-8").startswith(
        "before\n### ❌ nparam-lint diff: 2 models changed: GPT +1,056 (+18.03 %), "
    )


# --- the question cannot be answered ----------------------------------------------------------


def test_outside_of_git_and_without_a_commit(nparam_lint, tmp_path, environ):
    done = nparam_lint("diff", "HEAD", cwd=tmp_path, **GIT)
    assert (done.returncode, "is not in a git repository" in done.stderr) == (2, True)
    empty = Sample.create(tmp_path / "empty", environ)
    done = nparam_lint("diff", "HEAD", cwd=empty.path, **GIT)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the repository has no commit yet" in done.stderr


def test_in_a_shallow_clone_the_command_that_fetches_is_told(sample, nparam_lint, tmp_path):
    sample.committed({"nets/conv.py": CONV + "\n"})
    clone = tmp_path / "clone"
    sample.git("clone", "--quiet", "--depth=1", sample.path.as_uri(), clone)
    for revision, command in (
        ("HEAD~1", "git fetch --unshallow, or"),
        ("v1", "git fetch --depth=1 origin v1:v1, or"),
        ("0123456789", "git fetch --depth=1 origin 0123456789, or"),
        ("origin/dev", "git fetch --depth=1 origin +refs/heads/dev:refs/remotes/origin/dev, or"),
        ("origin/dev...", "git fetch --unshallow origin +refs/heads/dev:refs/remotes/origin/dev"),
    ):
        done = nparam_lint("diff", revision, cwd=clone, **GIT)
        assert done.returncode == 2
        assert f"in this shallow clone; next: {command}" in done.stderr


def test_what_others_read_is_a_document_also_on_failure(sample, nparam_lint):
    starts = {"markdown": "<!-- nparam-lint diff -->\n", "github": "::error "}
    for format, start in starts.items():
        for options, more in ((["--format", format], {}), ([], {"NPARAM_LINT_FORMAT": format})):
            done = nparam_lint("diff", "nosuch", *options, cwd=sample.path, **GIT | more)
            assert done.returncode == 2
            assert "there is no revision 'nosuch'" in done.stderr
            assert "there is no revision 'nosuch'" in done.stdout
            assert done.stdout.startswith(start)
