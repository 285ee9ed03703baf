"""GPUs of NVIDIA, and of AMD where torch is built with ROCm."""

LABEL = "cuda:0"
IS_AUTOMATIC = True


def why_absent(torch):
    if not torch.backends.cuda.is_built():
        return "this torch is built without CUDA"
    return None if torch.cuda.is_available() else "no CUDA device"


def free_bytes(torch):
    return torch.cuda.mem_get_info(0)[0]


def allocated_bytes(torch):
    return torch.cuda.memory_allocated(0)
