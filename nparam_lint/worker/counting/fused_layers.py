"""A model as its own methods make it ready for inference, with branches and norms in one layer."""

from __future__ import annotations

import contextlib
import copy
import inspect

# Of RepVGG, of MobileOne and FastViT, of LeViT and YOLO, of RT-DETR: the whole, and its parts.
WHOLE = "deploy"
METHODS = ("switch_to_deploy", "reparameterize", "fuse", WHOLE, "convert_to_deploy")


def fusing_methods(kinds):
    """The names of the methods that some of these classes of modules have; "" of none."""
    return " and ".join(sorted({*map(method_of, kinds)} - {None}))


def fused_model(torch, model):
    """A copy of the model on which the method was called, wherever a module has one; None where one
    fails. As in timm, a layer that a method gives takes the place of its own."""
    with contextlib.suppress(Exception, SystemExit), torch.no_grad():
        return fused(torch, copy.deepcopy(model))
    return None


def method_of(kind):
    for name in METHODS:
        method = getattr(kind, name, None)
        if inspect.isfunction(method):
            needed = [
                p for p in inspect.signature(method).parameters.values() if p.default is p.empty
            ]
            if len(needed) == 1:  # `self`
                return name
    return None


def fused(torch, module):
    name = method_of(type(module))
    result = getattr(module, name)() if name else None
    if isinstance(result, torch.nn.Module):
        module = result
    if name == WHOLE:
        return module
    for path, child in list(module.named_children()):
        replacement = fused(torch, child)
        if replacement is not child:
            setattr(module, path, replacement)
    return module
