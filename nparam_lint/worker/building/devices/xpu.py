"""GPUs of Intel."""

LABEL = "xpu:0"
IS_AUTOMATIC = False


def why_absent(torch):
    # torch.xpu came with torch 2.3; that of a build without it says that there is no device.
    available = hasattr(torch, "xpu") and torch.xpu.is_available()
    return None if available else "no XPU device"


def free_bytes(torch):
    # torch 2.6 and later (https://github.com/pytorch/pytorch/pull/141230); some GPUs refuse to tell
    # (https://github.com/pytorch/pytorch/issues/164429).
    try:
        return torch.xpu.mem_get_info(0)[0]
    except (AttributeError, RuntimeError):
        return None


def allocated_bytes(torch):
    return torch.xpu.memory_allocated(0)
