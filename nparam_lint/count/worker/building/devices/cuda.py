"""GPUs of NVIDIA, and of AMD where torch is built with ROCm."""

from __future__ import annotations

LABEL = "cuda:0"
RUNGS = ()
IS_REAL, IS_AUTOMATIC = True, True


def why_absent(torch):
    if not torch.backends.cuda.is_built():
        return "this torch is built without CUDA"
    return None if torch.cuda.is_available() else "no CUDA device"


def free_bytes(torch):
    return torch.cuda.mem_get_info(0)[0]


def moved(torch, model):
    with torch.device(LABEL):
        return torch.nn.Module.to(model, LABEL)


def allocated_bytes(torch):
    return torch.cuda.memory_allocated(0)
