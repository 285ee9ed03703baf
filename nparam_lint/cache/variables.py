"""Which environment variables a count may depend on: the one list.

A build sees the variables of `READ_BY_C` and `NEEDED`, as any program does. Python code may ask for
any other (`os.environ`), and what it asks for is noted. All others are not there, so that no code
can depend on them (`count/worker_environment.py`).

Imported by the run that finds nothing changed, so that it imports nothing itself.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Read by C code, of which nobody can see what it asks for: how the names begin. Measurements are
# valid for the values that these have.
READ_BY_C = (
    # the language and the encoding, by which files are read
    *("LANG", "LC_", "TZ"),
    # Python at its start; the dynamic linker; what chooses a version of Python (pyenv, asdf, mise)
    *("PYTHON", "LD_", "DYLD_", "PYENV_VERSION", "ASDF_", "MISE_"),
    # PyTorch and its C++ libraries
    *("TORCH", "PYTORCH", "ATEN_", "C10_", "CAFFE2_", "KINETO_", "TRITON_"),
    # accelerators: which there are, and how their libraries work
    *("CUDA", "CUDNN", "CUBLAS", "NVIDIA_", "NCCL_", "NVRTC", "HIP_", "HSA_", "ROCM_", "ROCR_"),
    *("MIOPEN_", "AMD_", "ZE_", "SYCL_", "ONEAPI_", "XLA_", "TPU_", "PJRT_", "NEURON_", "ASCEND_"),
    # threads and numerical libraries
    *("OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_", "OPENBLAS_", "GOTO_", "BLIS_"),
    *("VECLIB_", "NUMEXPR_", "NPY_", "NUMBA_", "TBB_", "RAYON_", "OPENCV_", "ARROW_"),
    # how memory is had
    *("MALLOC_", "GLIBC_", "MIMALLOC_", "JEMALLOC_", "_RJEM_"),
    # hubs and libraries of models, whose parts in Rust and C++ read their own
    *("HF_", "HUGGINGFACE_", "TRANSFORMERS_", "DIFFUSERS_", "SAFETENSORS_", "TOKENIZERS_", "TF_"),
    *("JAX_", "SSL_CERT_", "OPENSSL_", "RUST_"),
)
# Programs do not start without these, or libraries fail. Their values decide where something is,
# and what is there is noted by itself: they only count where Python code asks for them.
NEEDED = frozenset(
    "PATH HOME USER LOGNAME TMPDIR TEMP TMP SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT APPDATA"
    " LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE USERNAME HOMEDRIVE HOMEPATH"
    " NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE"
    # where Python writes bytecode, or that it does not
    " PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX".split()
)
# What a shell changes from command to command, and no answer depends on.
_PASSING = frozenset(("_", "SHLVL", "OLDPWD", "PWD"))
# What the command itself reads, or git and the search for an interpreter do for it.
_OF_THE_COMMAND = frozenset(
    "PATH HOME USERPROFILE APPDATA LOCALAPPDATA XDG_CONFIG_HOME XDG_CACHE_HOME VIRTUAL_ENV"
    " CONDA_PREFIX NO_COLOR FORCE_COLOR TERM COLUMNS PRE_COMMIT PRE_COMMIT_TO_REF"
    " PRE_COMMIT_LOCAL_BRANCH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR"
    " GIT_OBJECT_DIRECTORY GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM".split()
)
_BEGINNINGS = ("NPARAM_LINT_", "GIT_CONFIG", *READ_BY_C)
# Parts of the names of secrets: a report shows the value of none, of old ones or new ones.
_OF_SECRETS = ("TOKEN", "SECRET", "PASS", "PW", "KEY", "CRED", "PRIVATE", "AUTH", "COOKIE", "DSN")
_NO_SECRETS = ("SSH_", "GPG_", "XAUTH", "GIT_")


def is_read_by_c(name: str) -> bool:
    """Whether C code may read the variable."""
    return name.startswith(READ_BY_C) and name not in NEEDED


def decides(name: str) -> bool:
    """Whether the variable may change what the command prints, whatever the models ask for."""
    if name in _OF_THE_COMMAND or name.startswith(_BEGINNINGS):
        return True
    known = name.upper()
    return not known.startswith(_NO_SECRETS) and any(part in known for part in _OF_SECRETS)


def value_of(name: str, environ: Mapping[str, str]) -> str | None:
    """The value of a variable; for "HF_*" all whose names begin so, and for "*" all that code can
    see that lists them."""
    if not name.endswith("*"):
        return environ.get(name)
    found = (n for n in environ if n.startswith(name[:-1]) and n not in _PASSING)
    return "\n".join(sorted(f"{n}={environ[n]}" for n in found))
