"""A model that wants to download its weights says so, with the call that needs none."""

import os
from pathlib import Path

import pytest
from worker_runs import Run, make_jobs, run

SOURCE = """\
import enum, os, subprocess, torch, urllib.request
import torch.nn as nn
from huggingface_hub import hf_hub_download

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

def told():
    urllib.request.urlopen("https://stats.example/count")

# These want no download.

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
FROM = "weights from https://x.example/"
WITHOUT = "let an argument decide whether they are loaded"
CASES = {
    "resnet": (f"{FROM}resnet18.pth", "build it with resnet(pretrained=False)"),
    "Net": (f"{FROM}w.pth", "build it with Net(weights=None)"),
    "vision": (f"{FROM}v.pth", "build it with vision(weights=None)"),
    "Configured": (f"{FROM}resnet18.pth", "build it with Configured(Config(pretrained=False))"),
    "Outer": (f"{FROM}resnet18.pth", "pass pretrained=False at h.py:35"),
    "Wrapped": (f"{FROM}a.pth", "build it with Wrapped(encoder_weights=None)"),
    "hub": ("weights", WITHOUT),
    "fetched": (f"{FROM}w.safetensors", WITHOUT),
    "program": ("a file", WITHOUT),
    "cache": ("weights", WITHOUT),
    "offline": ("weights", "build it with offline(pretrained=None)"),
    "told": ("a file from https://stats.example/count", WITHOUT),
}
OTHERS = ("saved", "caught", "version", "wrong")

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths of caches look otherwise")


@pytest.fixture(scope="module")
def all_models(tmp_path_factory: pytest.TempPathFactory) -> Run:
    project, site = (tmp_path_factory.mktemp(name) for name in ("project", "site"))
    (project / "h.py").write_text(SOURCE)
    (site / "huggingface_hub").mkdir()
    (site / "huggingface_hub" / "__init__.py").write_text(HUB)
    jobs = make_jobs(project, [f"h.py::{name}" for name in (*CASES, *OTHERS)])
    return run(project, jobs, environ={"PYTHONPATH": str(site), "HOME": str(site)})


@pytest.mark.parametrize("name", CASES)
def test_a_download_is_named(name: str, all_models: Run) -> None:
    failure = all_models.failed(f"h.py::{name}")
    what, step = CASES[name]
    assert f"() needs to download {what}: " in failure.reason.replace("(Config())", "()")
    assert failure.hint == f"counting needs no downloads; next: {step}"
    assert failure.cause == "refused"


@pytest.mark.parametrize("name", OTHERS)
def test_other_failures_are_not_downloads(name: str, all_models: Run) -> None:
    failure = all_models.failed(f"h.py::{name}")
    assert "download" not in failure.reason
    assert failure.hint is None


def test_a_download_while_a_module_is_imported(tmp_path: Path) -> None:
    (tmp_path / "h.py").write_text(
        "import torch\nclass Net(torch.nn.Module):\n"
        "    w = torch.hub.load_state_dict_from_url('https://x.example/a.pth')\n"
    )
    failure = run(tmp_path, make_jobs(tmp_path, ["h.py::Net"])).failed("h.py::Net")
    assert f"needs to download {FROM}a.pth: " in failure.reason


@pytest.mark.thorough
def test_a_submodule_that_was_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    net = "from engine import Conv\nimport torch\nclass Net(torch.nn.Module):\n"
    (tmp_path / "h.py").write_text(net + "    def __init__(self):\n        Conv()\n")
    failure = run(tmp_path, make_jobs(tmp_path, ["h.py::Net"])).failed("h.py::Net")
    assert "engine/ is empty; for a submodule, git submodule update --init" in failure.reason


@pytest.mark.thorough
def test_a_package_of_another_version(tmp_path: Path) -> None:
    net = "import torch, json\nfrom json.schemas import Conv\nclass Net(torch.nn.Module):\n"
    (tmp_path / "h.py").write_text(net + "    def __init__(self):\n        Conv()\n")
    failure = run(tmp_path, make_jobs(tmp_path, ["h.py::Net"])).failed("h.py::Net")
    assert "No module named 'json.schemas'" in failure.reason
    assert "; another version of json is installed" in failure.reason
    assert failure.package is None  # to install it would not help
