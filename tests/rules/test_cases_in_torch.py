"""What the rules claim about their invalid cases, asked of PyTorch itself."""

from __future__ import annotations

import re

import pytest
import torch

from nparam_lint.ground.rule_catalogue import RULES


def invalid(code):
    return pytest.mark.parametrize(("source", "expected"), RULES[code].invalid.items())


def executed(source):
    names = {}
    exec(compile(source, "net.py", "exec"), names)
    return names


def built(source):
    net = executed(source)["Net"]()
    if type(net).__init__ is torch.nn.Module.__init__:
        net.build()
    return net


def attributes(expected):
    return [re.search(r"self\.(\w+)", line)[1] for line in expected.splitlines()]


def tensors_in(value):
    """All tensors with gradients that a value, a container or a module inside one has."""
    if isinstance(value, torch.nn.Module):
        return list(value.parameters())
    if isinstance(value, torch.Tensor):
        return [value] if value.requires_grad else []
    if isinstance(value, dict):
        value = value.values()
    return [] if value is None else [t for item in value for t in tensors_in(item)]


@invalid("NPL101")
def test_what_a_plain_container_holds_is_no_parameter(source, expected):
    net = built(source)
    registered = {id(parameter) for parameter in net.parameters()}
    for name in attributes(expected):
        held = tensors_in(getattr(net, name))
        assert held
        assert registered.isdisjoint(map(id, held))


@invalid("NPL107")
def test_a_number_in_a_unit_of_bytes_is_not_what_is_said(source, expected, capsys):
    executed(source)
    said = float(re.search(r"\d+(\.\d+)?(e-\d+)?", capsys.readouterr().out)[0])
    net = torch.nn.Linear(1023, 1024)
    count = sum(parameter.numel() for parameter in net.parameters())
    if "MB" in expected:
        size = sum(p.numel() * p.element_size() for p in net.parameters())
        assert said == pytest.approx(size / 4 / 1e6, rel=0.05)
    else:
        missing = float(re.search(r"([\d.]+) % too small", expected)[1]) / 100
        unit = 1e9 if "1,073" in expected else 1e6
        assert said == pytest.approx(count / unit * (1 - missing), rel=0.002)


@invalid("NPL102")
def test_forward_calculates_with_what_no_optimiser_has_seen(source, expected):
    net = built(source)
    before = {id(parameter) for parameter in net.parameters()}
    pending, leaves = [net(torch.ones(4, 2)).sum().grad_fn], []
    while pending:
        function = pending.pop()
        leaves += [function.variable] if hasattr(function, "variable") else []
        pending += [inner for inner, _ in function.next_functions if inner is not None]
    assert len(expected.splitlines()) == 1
    assert any(isinstance(leaf, torch.nn.Parameter) and id(leaf) not in before for leaf in leaves)


@invalid("NPL103")
def test_an_uninitialised_module_cannot_be_used(source, expected):
    net = executed(source)["Net"]
    assert len(expected.splitlines()) == 1
    with pytest.raises(AttributeError):
        net()(torch.ones(4, 2))
