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


LSTM, LARGE = "nets/models.py::LSTM(hidden=6)", "nets/models.py::GPT(layers=3)"
# Counts side by side; roles of real layers; of one that cannot be built; how far apart, the worst
# first. The budgets of what is compared are not judged.
COMMANDS = f"""
compare {GPT} '{LSTM}'
compare nets/models.py::Odd --verbose
compare nets/models.py::Broken nets/models.py::LSTM
compare {GPT} '{LSTM}' '{LARGE}' --within 12% -q
compare {GPT} '{LSTM}' '{LARGE}' --within 50% -q
"""


def test_what_is_said(transcript, expected):
    expected(transcript(COMMANDS, cwd="one"))


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
    broken, right = json.loads(compare(*models, "--format", "json", code=1).stdout)["models"]
    assert (broken["status"], broken["roles"], broken["code"]) == ("not_measured", None, "NPL004")
    assert right["status"] == "measured"


def test_a_page_is_a_document_also_on_failure(compare):
    done = compare("Nope", "--format", "markdown", code=2)
    assert done.stdout.startswith("```text\n")
    assert "no model of this project is called Nope" in done.stdout


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
