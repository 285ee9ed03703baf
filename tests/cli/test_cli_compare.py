"""`nparam-lint compare` as a user meets it: real models, several projects, formats, exit codes."""

from __future__ import annotations

import json
from functools import partial

import pytest
from sample_files import write_files

MODELS = '''\
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, 2)
        self.ln_2 = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))


class GPT(nn.Module):
    """A small one.

    nparam: 1
    """

    def __init__(self, layers=2, d=8):
        super().__init__()
        self.wte = nn.Embedding(50, d)
        self.h = nn.Sequential(*(Block(d) for _ in range(layers)))
        self.lm_head = nn.Linear(d, 50, bias=False)
        self.lm_head.weight = self.wte.weight


class LSTM(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.embed = nn.Embedding(50, 4)
        self.rnn = nn.LSTM(4, hidden, num_layers=2, bidirectional=True)
        self.out = nn.Linear(2 * hidden, 50)


class Odd(nn.Module):
    class Table(nn.Embedding):
        pass

    def __init__(self):
        super().__init__()
        self.table = self.Table(10, 4)
        self.bag = nn.EmbeddingBag(7, 4)
        self.conv = weight_norm(nn.Conv1d(4, 4, 3))
        self.layer = nn.TransformerEncoderLayer(4, 2, dim_feedforward=16)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, 4))
        self.mix = nn.Linear(4, 4)


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        raise ValueError("no such thing")
'''
GPT = "nets/models.py::GPT"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two projects side by side, and a directory with none."""
    config = 'device = "meta"\n'
    files = {
        "one/nets/models.py": MODELS,
        "one/nparam-lint.toml": config,
        "two/nets/models.py": MODELS,
        "two/nparam-lint.toml": f'{config}[arguments]\n"{GPT}" = "layers=1, d=16"\n',
        "plain/notes.txt": "",
    }
    return write_files(tmp_path_factory.mktemp("projects"), files)


@pytest.fixture
def compare(answered):
    return partial(answered, "compare", cwd="one")


def test_counts_side_by_side(compare):
    done = compare(GPT, "nets/models.py::LSTM(hidden=6)", COLUMNS="80")
    assert (
        done.stdout
        == """\
A  nets/models.py::GPT
B  nets/models.py::LSTM(hidden=6)

                          A GPT  B LSTM(hidden=6)
─────────────  ────────────────  ────────────────
embedding           400  18.7 %       200   8.4 %
attention           576  26.9 %         –
feed-forward      1,104  51.5 %         –
recurrent             –             1,536  64.4 %
norm                 64   3.0 %         –
output             tied               650  27.2 %
─────────────  ────────────────  ────────────────
total             2,144             2,386
against A                            +242
                                 +11.29 %
─────────────  ────────────────  ────────────────
trainable         2,144             2,386
non-embedding     1,744  81.3 %     2,186  91.6 %
bytes             8,576             9,544

A  tied, counted once: lm_head.weight = wte.weight
"""
    )
    assert done.stderr == ""


@pytest.mark.thorough
def test_roles_of_real_layers(compare):
    out = compare("nets/models.py::Odd", "--format", "json").stdout
    (model,) = json.loads(out)["models"]
    roles = {part["path"]: part["role"] for part in model["parts"] if part["path"]}
    assert roles == {
        "table": "embedding",
        "bag": "embedding",
        "conv.parametrizations.weight": "convolution",
        "conv": "convolution",
        "layer.self_attn": "attention",
        "layer.self_attn.out_proj": "attention",
        "layer.linear1": "feed-forward",
        "layer.linear2": "feed-forward",
        "layer.norm1": "norm",
        "layer.norm2": "norm",
        "mix": "other",
    }
    assert [part["role"] for part in model["parts"] if not part["path"]] == ["embedding"]
    assert sum(model["roles"].values()) == model["counts"]["total"] == 40 + 28 + 56 + 244 + 4 + 20


def test_models_of_several_projects_are_built_by_their_own(compare):
    given = [f"../one/{GPT}", f"../two/{GPT}"]
    models = json.loads(compare(*given, "--format", "json", cwd="plain").stdout)["models"]
    assert [model["given"] for model in models] == given
    assert [model["target"] for model in models] == [GPT] * 2
    assert [model["call"] for model in models] == ["GPT()", "GPT(layers=1, d=16)"]
    assert [model["counts"]["total"] for model in models] == [2144, 4080]
    assert models[0]["roles"]["attention"] == 576


def test_one_that_cannot_be_built_fails_and_the_others_are_shown(compare):
    models = ("nets/models.py::Broken", "nets/models.py::LSTM")
    done = compare(*models, code=1, COLUMNS="80")
    assert "   – not measured: Broken() raised ValueError: no such thing\n" in done.stdout
    assert "B LSTM" in done.stdout
    assert "against" not in done.stdout
    broken, right = json.loads(compare(*models, "--format", "json", code=1).stdout)["models"]
    assert (broken["status"], broken["roles"], broken["code"]) == ("not_measured", None, "NPL004")
    assert right["status"] == "measured"


def test_the_budgets_of_what_is_compared_are_not_judged(compare):
    assert "NPL001" not in compare(GPT).stdout


@pytest.mark.parametrize("format", ["json", "markdown"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "which models?"),
        (["nets/none.py::GPT"], "there is no file nets/none.py"),
        (["Nope"], "no model of this project is called Nope"),
        ([GPT, "--timeout", "soon"], "timeout"),
    ],
)
def test_a_machine_format_is_a_document_also_on_failure(compare, format, arguments, told):
    done = compare(*arguments, "--format", format, code=2)
    assert told in done.stderr
    if format == "json":
        document = json.loads(done.stdout)
        assert told in document["error"]
        assert document["models"] == []
    else:
        assert done.stdout.startswith("```text\n")
        assert told in done.stdout


def test_a_python_without_torch_is_an_error(compare, without_torch):
    arguments = [GPT, "--python", without_torch.parent.parent]  # an environment
    done = compare(*arguments, code=2)
    assert done.stdout == ""
    assert "no model can be built with" in done.stderr
    document = json.loads(compare(*arguments, "--format", "json", code=2).stdout)
    assert "no model can be built with" in document["error"]


# --- how far apart ----------------------------------------------------------------------------

LSTM, LARGE = "nets/models.py::LSTM(hidden=6)", "nets/models.py::GPT(layers=3)"


def test_totals_that_are_further_apart_fail_the_worst_first(compare):
    done = compare(GPT, LSTM, LARGE, "--within", "12%", "-q", code=1, COLUMNS="80")
    assert done.stdout.endswith(
        """
not within 12%      difference
────────────────  ────────────  ────────
C larger than A           +872  +40.67 %
C larger than B           +630  +26.40 %
"""
    )


def test_what_is_to_be_within_is_data_too(compare):
    done = compare(LSTM, GPT, LARGE, "--within", "20%", "--format", "json", code=1)
    document = json.loads(done.stdout)
    assert document["within"] == "20%"
    assert document["pairs"] == [
        {"larger": LARGE, "smaller": GPT, "difference": 872, "ratio": 3016 / 2144, "ok": False},
        {"larger": LARGE, "smaller": LSTM, "difference": 630, "ratio": 3016 / 2386, "ok": False},
        {"larger": LSTM, "smaller": GPT, "difference": 242, "ratio": 2386 / 2144, "ok": True},
    ]
    document = json.loads(compare(LSTM, GPT, LARGE, "--format", "json").stdout)
    assert (document["within"], document["pairs"]) == (None, [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([GPT, LSTM, "--within", "0.5"], "option --within is '0.5': found '0.5', a decimal"),
        ([GPT, LSTM, "--within", "near"], "expected a tolerance such as 2%, 50k or 1000"),
        ([GPT, "--within", "5%"], "option --within compares two models or more"),
    ],
)
def test_a_tolerance_that_cannot_be_used_is_wrong_usage(compare, arguments, told):
    assert told in compare(*arguments, code=2).stderr
