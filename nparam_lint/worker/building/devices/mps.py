"""GPUs of Apple (Metal Performance Shaders)."""

LABEL = "mps:0"
IS_AUTOMATIC = False


def why_absent(torch):
    if not torch.backends.mps.is_built():
        return "this torch is built without MPS"
    return None if torch.backends.mps.is_available() else "no MPS device"


def free_bytes(torch):
    # torch 2.5 and later: https://github.com/pytorch/pytorch/pull/128289
    most = getattr(torch.mps, "recommended_max_memory", None)
    return None if most is None else most() - torch.mps.driver_allocated_memory()


def allocated_bytes(torch):
    return torch.mps.current_allocated_memory()
