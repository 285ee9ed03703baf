"""A model that wants to download its weights says so, with the call that needs none."""

import os

import pytest
from worker_runs import Run, make_orders, run

SOURCE = """\
import enum, os, subprocess, torch, urllib.request
import torch.nn as nn
from huggingface_hub import hf_hub_download
from transformers.tokenization_bert import BertTokenizer, ByteTokenizer, JapaneseTokenizer

def resnet(width=4, pretrained=True):
    if pretrained:
        torch.hub.load_state_dict_from_url("https://x.example/resnet18.pth")
    return nn.Linear(width, 4)

class Net(nn.Module):
    def __init__(self, weights="DEFAULT"):
        super().__init__()
        if weights:
            torch.hub.download_url_to_file("https://x.example/w.pth", "w.pth")

class Weights(enum.Enum):
    DEFAULT = "https://x.example/v.pth"
    url = property(lambda self: self.value)

def vision(*, weights=Weights.DEFAULT):
    torch.hub.load_state_dict_from_url(weights.url)

class Config:
    def __init__(self, pretrained=True):
        self.pretrained = pretrained

class Configured(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        resnet(pretrained=config.pretrained)

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = resnet(8)

class Wrapped(nn.Module):
    def __init__(self, encoder_weights="imagenet"):
        super().__init__()
        try:
            torch.hub.load_state_dict_from_url("https://x.example/a.pth")
        except Exception as error:
            raise RuntimeError("no weights") from error

def hub():
    return torch.hub.load("pytorch/vision", "resnet18")

def fetched():
    urllib.request.urlretrieve("https://x.example/w.safetensors", "w")

def program():
    os.system("wget https://x.example/w.pth")

def cache():
    os.makedirs(os.path.expanduser("~/.cache/clip"))

def offline(pretrained="tiny"):
    hf_hub_download("me/tiny")

def tokenizer():
    words = tokenizer_that_is_held().tokenizer
    return nn.Embedding(len(words), 4)

def tokenizer_size():
    return nn.Embedding(BertTokenizer.from_pretrained("me/tiny").vocab_size, 4)

def tokenizer_that_fails():
    return nn.Embedding(len(JapaneseTokenizer.from_pretrained("me/tiny")), 4)

def tokenizer_id():
    return nn.Embedding(BertTokenizer.from_pretrained("me/tiny").pad_token_id + 1, 4)

def tokenizer_text():
    return nn.Embedding(BertTokenizer.from_pretrained("me/tiny")("a text")[-1], 4)

def told():
    urllib.request.urlopen("https://stats.example/count")

# These want no download.

def tokenizer_that_is_held():
    model = nn.Linear(4, 4)
    model.tokenizer = BertTokenizer.from_pretrained("me/tiny")
    model.tokenizer.add_tokens([model.tokenizer.pad_token])
    return model

def tokenizer_of_bytes():
    return nn.Embedding(len(ByteTokenizer.from_pretrained("me/tiny")), 4)

def saved(pretrained=True):
    open("out.txt", "w")

def caught():
    try:
        torch.hub.load_state_dict_from_url("https://x.example/a.pth")
    except Exception:
        pass
    open("out.txt", "w")

def version():
    subprocess.check_output(["git", "describe"])

def wrong(pretrained=True):
    raise ValueError("offline")
"""
# As the library behaves that is told to stay offline.
HUB = """\
class LocalEntryNotFoundError(Exception):
    pass

def hf_hub_download(repo_id):
    raise LocalEntryNotFoundError("outgoing traffic has been disabled")
"""
# As transformers 5 behaves then: it makes a tokenizer of no words but its own.
TOKENIZERS = {
    "__init__": "",
    "tokenization_utils_base": """\
class PreTrainedTokenizerBase:
    vocab_files_names = {}
    pad_token = "[PAD]"

    @classmethod
    def _from_pretrained(cls, files, name):
        made = cls()
        made.name_or_path, made.words = name, [cls.pad_token]
        return made

    @classmethod
    def from_pretrained(cls, name):
        return cls._from_pretrained(dict.fromkeys(cls.vocab_files_names), name)

    @property
    def vocab_size(self):
        return len(self.words)

    def __len__(self):
        return self.vocab_size

    def __call__(self, text):
        return [len(self)]

    def __getattr__(self, name):
        if name != "pad_token_id":
            raise AttributeError(name)
        return self.words.index(self.pad_token)

    def add_tokens(self, tokens):
        assert len(self) and self.pad_token_id == 0
        self.words.extend(tokens)
""",
    "tokenization_bert": """\
from .tokenization_utils_base import PreTrainedTokenizerBase

class BertTokenizer(PreTrainedTokenizerBase):
    vocab_files_names = {"vocab_file": "vocab.txt"}

class JapaneseTokenizer(BertTokenizer):
    def __init__(self):
        open(None)

class ByteTokenizer(PreTrainedTokenizerBase):
    pass
""",
}
VOCABULARY = "the vocabulary of 'me/tiny'"
FROM = "weights from https://x.example/"
LOAD = "load the tokenizer once where there is a network, or pass its size"
WITHOUT = "let an argument decide whether they are loaded"
CASES = {
    "resnet": (f"{FROM}resnet18.pth", "build it with resnet(pretrained=False)"),
    "Net": (f"{FROM}w.pth", "build it with Net(weights=None)"),
    "vision": (f"{FROM}v.pth", "build it with vision(weights=None)"),
    "Configured": (f"{FROM}resnet18.pth", "build it with Configured(Config(pretrained=False))"),
    "Outer": (f"{FROM}resnet18.pth", "pass pretrained=False at h.py:36"),
    "Wrapped": (f"{FROM}a.pth", "build it with Wrapped(encoder_weights=None)"),
    "hub": ("weights", WITHOUT),
    "fetched": (f"{FROM}w.safetensors", WITHOUT),
    "program": ("a file", WITHOUT),
    "cache": ("weights", WITHOUT),
    "offline": ("weights", "build it with offline(pretrained=None)"),
    "tokenizer": (VOCABULARY, LOAD),
    "tokenizer_size": (VOCABULARY, LOAD),
    "tokenizer_that_fails": (VOCABULARY, LOAD),
    "tokenizer_id": (VOCABULARY, LOAD),
    "tokenizer_text": (VOCABULARY, LOAD),
    "told": ("a file from https://stats.example/count", WITHOUT),
}
HELD = {"tokenizer_that_is_held": 20, "tokenizer_of_bytes": 4}
NET = "class Net(torch.nn.Module):\n    {}\n"
MODULES = {
    "imports": "import torch\n"
    + NET.format("w = torch.hub.load_state_dict_from_url('https://x.example/a.pth')"),
    "fetched": "import torch\nfrom engine import Conv\n" + NET.format("def __init__(self): Conv()"),
    "other": "import torch, json\nfrom json.schemas import Conv\n"
    + NET.format("def __init__(self): Conv()"),
}
OTHERS = ("saved", "caught", "version", "wrong")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths of caches look otherwise")


@pytest.fixture(scope="module")
def all_models(tmp_path_factory: pytest.TempPathFactory) -> Run:
    project, site = (tmp_path_factory.mktemp(name) for name in ("project", "site"))
    (project / "engine").mkdir()
    for name, source in {"h": SOURCE, **MODULES}.items():
        (project / f"{name}.py").write_text(source)
    (site / "huggingface_hub").mkdir()
    (site / "huggingface_hub" / "__init__.py").write_text(HUB)
    (site / "transformers").mkdir()
    for name, text in TOKENIZERS.items():
        (site / "transformers" / f"{name}.py").write_text(text)
    targets = [f"h.py::{name}" for name in (*CASES, *HELD, *OTHERS)]
    jobs = make_orders(project, targets + [f"{name}.py::Net" for name in MODULES])
    return run(project, jobs, environ={"PYTHONPATH": str(site), "HOME": str(site)})


@pytest.mark.parametrize("name", CASES)
def test_a_download_is_named(name: str, all_models: Run) -> None:
    failure = all_models.failed(f"h.py::{name}")
    what, step = CASES[name]
    assert f"() needs to download {what}: " in failure.reason.replace("(Config())", "()")
    start = "" if what == VOCABULARY else "counting needs no downloads; "
    assert failure.hint == f"{start}next: {step}"
    assert failure.cause == "refused"


@pytest.mark.parametrize("name", HELD)
def test_a_tokenizer_that_tells_no_number_is_no_download(name: str, all_models: Run) -> None:
    assert all_models.measured(f"h.py::{name}").counts.total == HELD[name]


@pytest.mark.parametrize("name", OTHERS)
def test_other_failures_are_not_downloads(name: str, all_models: Run) -> None:
    failure = all_models.failed(f"h.py::{name}")
    assert "download" not in failure.reason
    assert failure.hint is None


def test_a_download_while_a_module_is_imported(all_models: Run) -> None:
    failure = all_models.failed("imports.py::Net")
    assert f"needs to download {FROM}a.pth: " in failure.reason


def test_a_submodule_that_was_not_fetched(all_models: Run) -> None:
    failure = all_models.failed("fetched.py::Net")
    assert "engine/ is empty; for a submodule, git submodule update --init" in failure.reason


def test_a_package_of_another_version(all_models: Run) -> None:
    failure = all_models.failed("other.py::Net")
    assert "No module named 'json.schemas'" in failure.reason
    assert "; another version of json is installed" in failure.reason
    assert failure.package is None  # to install it would not help
