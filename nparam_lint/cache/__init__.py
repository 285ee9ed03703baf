"""Results of earlier runs, in the user's cache directory: without it a run gives the same answers,
only more slowly. This module prints the answer of the last run again if nothing has changed.

Only the state of files and directories (times, size, inode) is read, as git does; whoever changes a
file changes its state. A run in which nothing has changed imports nothing else.

Here is also the one list of environment variables that a count may depend on. A build sees the
variables of `READ_BY_C` and `NEEDED`, as any program does. Python code may ask for any other
(`os.environ`), and what it asks for is noted. All others are not there, so that no code can depend
on them (`count/worker_environment.py`).
"""

from __future__ import annotations

import os
import sys

from nparam_lint.cache.store import Store, directory, named, tool
from nparam_lint.ground.facts import answer, digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


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
    " PRE_COMMIT_LOCAL_BRANCH GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_PREFIX"
    " GIT_OBJECT_DIRECTORY GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM".split()
)
_BEGINNINGS = ("NPARAM_LINT_", "GIT_CONFIG", *READ_BY_C)
# Parts of the names of secrets: a report shows the value of none, of old ones or new ones.
_OF_SECRETS = ("TOKEN", "SECRET", "PASS", "PW", "KEY", "CRED", "PRIVATE", "AUTH", "COOKIE", "DSN")
_NO_SECRETS = ("SSH_", "GPG_", "XAUTH", "GIT_")


def replay(
    arguments: Sequence[str],
    environ: Mapping[str, str],
    on_change: Callable[[str, Mapping[str, str]], None],
) -> int | None:
    """Print what the last run with these arguments printed; returns its exit code. None: the answer
    may be different now, or there was none. If the content of a Python file has changed, most
    likely something must be built: then `on_change` is called with the interpreter of the last run
    and the environment."""
    if any(word.startswith("--no-c") for word in arguments):  # as argparse abbreviates it
        return None
    try:
        store, name = answers(environ), name_of(arguments, environ)
        head, _, body = (store.load(name) or b"").partition(b"\n")
        code, length, python = head.split(b" ", 2)
        text, lines = body[: int(length)], body[int(length) :].split(b"\n")
        is_same = True
        for line in lines:
            state, question, old_answer, place = os.fsdecode(line).split(" ", 3)
            if question == CONTENT and (answer("state", place) or NOTHING) == state:
                continue
            if now(question, place, environ) != old_answer:
                is_same = False
                if python and place.endswith(".py") and question == CONTENT:
                    on_change(os.fsdecode(python), environ)
                    break
        if not is_same:
            return None
        store.note_use(name)
    except Exception:  # no directory, no output, no such entry: the run itself finds out
        return None
    try:
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # `nparam-lint | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:  # the run itself says that there is no room
        return None
    return int(code)


def answers(environ: Mapping[str, str]) -> Store:
    """What is kept of the answers that were given in the current directory. They are of use on this
    machine alone."""
    return Store(directory(environ), os.getcwd(), shared=named(environ) is not None)


def name_of(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """The entry's name: everything that an answer depends on, except files, and the variables that
    models have asked for."""
    variables = sorted(f"{name}={value}" for name, value in environ.items() if decides(name))
    look = (sys.stdout.encoding, str(sys.stdout.isatty()), str(sys.stderr.isatty()), _width())
    parts = (tool(), os.getcwd(), *look, str(len(arguments)), *arguments, *variables)
    return "run-" + digest(*parts)


# What an answer may rest on: what a file contains, or which names are in a directory; the state of
# one, whatever is in it; the value of a variable (`value_of`); and what `ground.facts.answer` says
# of a path ("lstat", "readlink").
CONTENT, STATE, VARIABLE = "content", "state", "env"
NOTHING = "-"  # the answer where there is nothing


def now(question: str, place: str, environ: Mapping[str, str]) -> str:
    """The answer to one of these questions at present."""
    is_text = question in (VARIABLE, "readlink")  # with spaces, perhaps
    reply = value_of(place, environ) if question == VARIABLE else answer(question, place)
    if reply is None and question == CONTENT:  # a directory
        reply = answer("names", place)
    return NOTHING if reply is None else digest(reply) if is_text else reply


def _width() -> str:
    """The width of the terminal, also when a hook runner captures the output."""
    try:
        return str(os.get_terminal_size(sys.__stdout__.fileno()).columns)  # type: ignore[union-attr]
    except (AttributeError, OSError, ValueError):
        pass
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return str(os.get_terminal_size(terminal.fileno()).columns)
    except (AttributeError, OSError):
        return ""


def is_read_by_c(name: str) -> bool:
    """Whether C code may read the variable."""
    return name.startswith(READ_BY_C) and name not in NEEDED


def decides(name: str) -> bool:
    """Whether the variable may change what the command prints, whatever the models ask for."""
    if name in _OF_THE_COMMAND or name.startswith(_BEGINNINGS):
        return True
    upper = name.upper()
    return not upper.startswith(_NO_SECRETS) and any(part in upper for part in _OF_SECRETS)


def value_of(name: str, environ: Mapping[str, str]) -> str | None:
    """The value of a variable; for "HF_*" all whose names begin so, and for "*" all that code can
    see that lists them."""
    if not name.endswith("*"):
        return environ.get(name)
    names = (key for key in environ if key.startswith(name[:-1]) and key not in _PASSING)
    return "\n".join(sorted(f"{key}={environ[key]}" for key in names))
