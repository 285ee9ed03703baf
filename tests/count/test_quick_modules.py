"""That modules are made more quickly changes nothing of them: every case once as torch does it, and
once as the worker does."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import pytest
import torch
from torch import nn

from nparam_lint.worker.torch_compat import quicken

Case = Callable[[], nn.Module]


class Watching:
    """A class beside `nn.Module` that sees what torch passes on."""

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        self.__dict__.setdefault("seen", []).append(name)


class Watched(nn.Module, Watching):
    pass


class Cooperative(nn.Module):
    call_super_init = True


class Own(nn.Module):
    """It keeps its parameters in a dictionary of its own kind, as DeepSpeed's do."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["_parameters"] = OrderedDict[str, nn.Parameter | None]()

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        super().register_parameter(f"own_{name}", param)


def with_parts(module: nn.Module) -> nn.Module:
    module.width = 3
    module.names = ["a"]
    module.layer = nn.Linear(2, 3)
    module.scale = nn.Parameter(torch.ones(4))
    module.register_buffer("mean", torch.zeros(2), persistent=False)
    return module


def again(name: str, value: object) -> Case:
    """Something is assigned where something else is."""

    def case() -> nn.Module:
        module = with_parts(nn.Module())
        setattr(module, name, value)
        return module

    return case


def given_other() -> nn.Module:
    """A hook of torch's puts another module in the place of the one that is assigned."""
    empty = nn.ModuleList()  # which is false
    register = nn.modules.module.register_module_module_registration_hook
    hook = register(lambda *_: empty)  # type: ignore[no-untyped-call]
    try:
        return with_parts(nn.Module())
    finally:
        hook.remove()


def computed() -> nn.Module:
    module = nn.Module()
    module.scale = nn.Parameter(torch.ones(2)) * 2
    module.scale = nn.Parameter(torch.ones(2))
    return module


def early(value: object) -> Case:
    def case() -> nn.Module:
        module = nn.Module.__new__(nn.Module)
        module.part = value
        return module

    return case


def deleted() -> nn.Module:
    module = with_parts(nn.Module())
    for name in ("layer", "scale", "mean", "width"):
        delattr(module, name)
    return with_parts(module)


PLACES = ("width", "layer", "scale", "mean", "training", "forward", "")
CASES: dict[str, Case] = {
    **{kind.__name__: lambda kind=kind: with_parts(kind()) for kind in (Watched, Cooperative, Own)},  # type: ignore[misc]
    **{
        f"{name or 'no name'} = {what}": again(name, value)
        for name in PLACES
        for what, value in {
            "number": 1,
            "none": None,
            "tensor": torch.ones(1),
            "parameter": nn.Parameter(torch.ones(1)),
            "module": nn.ReLU(),
            "function": len,
        }.items()
    },
    "arguments": lambda: nn.Module(1),
    "a keyword": lambda: nn.Module(width=1),
    "a hook": given_other,
    "computed": computed,
    "early number": early(1),
    "early module": early(nn.ReLU()),
    "early parameter": early(nn.Parameter(torch.ones(1))),
    "deleted": deleted,
    "copied": lambda: nn.Sequential(*[nn.TransformerEncoderLayer(4, 2) for _ in range(2)]),
    "compiled": lambda: torch.jit.script(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))),
}


def outcome(case: Case) -> object:
    """What there is of a module, in its order; or the error."""
    try:
        module = case()
        parts = [*module.named_modules()]
    except Exception as error:
        return type(error), str(error)
    found: list[object] = [
        (path, type(part), [(name, type(held), _held(held)) for name, held in vars(part).items()])
        for path, part in parts
        if not isinstance(part, torch.jit.ScriptModule)
    ]
    return [*found, sorted(module.state_dict())]


def _held(value: object) -> object:
    if isinstance(value, (dict, set)):
        return [(name, type(value[name]) if isinstance(value, dict) else None) for name in value]
    return value if isinstance(value, (int, list, type(None))) else type(value)


@pytest.mark.parametrize("name", CASES)
def test_a_module_is_what_torch_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = outcome(CASES[name])
    for method in ("__init__", "__setattr__"):
        monkeypatch.setattr(nn.Module, method, vars(nn.Module)[method])  # so that it is put back
    quicken(torch)
    assert outcome(CASES[name]) == expected


def test_no_two_modules_share_what_they_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("__init__", "__setattr__"):
        monkeypatch.setattr(nn.Module, method, vars(nn.Module)[method])
    quicken(torch)
    one, other = vars(nn.Module()), vars(nn.Module())
    held = [name for name, value in one.items() if not isinstance(value, (bool, type(None)))]
    assert len(held) > 10
    assert not any(one[name] is other[name] for name in held)
