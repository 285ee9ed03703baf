"""Devices; what is counted and found is on pages/*_projects.md."""

import json

import pytest


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
