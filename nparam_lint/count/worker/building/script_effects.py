"""Builds a model as the repository does, without what a script does beside: pretrained weights are
not downloaded but stay as they were initialised, which no count depends on, and no directories are
made for results. Only for what is evidence: of a declared model this is refused."""

import collections
import contextlib
import os
import sys

_Keys = collections.namedtuple("_Keys", "missing_keys unexpected_keys")


class AbsentWeights(dict):
    """Stands for a state dict, and for all that is in it."""

    def __getitem__(self, name):
        return self

    def __contains__(self, name):
        return True

    def __delitem__(self, name):
        pass

    def get(self, name, default=None):
        return self

    def pop(self, name, default=None):
        return self

    def copy(self):
        return self


@contextlib.contextmanager
def without_effects(torch, addresses):
    """In this context weights that would be downloaded are left out, and their addresses are added
    to the list."""
    fetch, load = torch.hub.load_state_dict_from_url, torch.nn.Module.load_state_dict

    def fetch_nothing(url, *args, **kwargs):
        addresses.append(url)
        return AbsentWeights()

    def load_known(self, state_dict, *args, **kwargs):
        if isinstance(state_dict, AbsentWeights):
            return _Keys([], [])
        return load(self, state_dict, *args, **kwargs)

    changes = [
        (vars(os), "mkdir", do_nothing),
        (vars(os), "makedirs", do_nothing),
        (vars(torch.hub), "list", list_nothing),
    ]
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get("load_state_dict_from_url") is fetch:
            changes.append((names, "load_state_dict_from_url", fetch_nothing))
    before = [(names, name, names[name]) for names, name, _ in changes]
    for names, name, value in changes:
        names[name] = value
    torch.nn.Module.load_state_dict = load_known
    try:
        yield
    finally:
        torch.nn.Module.load_state_dict = load
        for names, name, value in before:
            names[name] = value


def do_nothing(*args, **kwargs):
    pass


def list_nothing(*args, **kwargs):
    return []
