"""What a build sees of the user's environment, and the secrets that it does not see."""

from __future__ import annotations

import json
import os
import re
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from nparam_lint.cache import NEEDED, is_read_by_c
from nparam_lint.ground.patterns import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Variables that make hubs, loggers and downloaders stay offline.
OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "MPI4PY_RC_INITIALIZE": "no",  # MPI ends a process that must not connect
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
    "DO_NOT_TRACK": "1",
    "MPLBACKEND": "Agg",
    "TOKENIZERS_PARALLELISM": "false",
    "NO_ALBUMENTATIONS_UPDATE": "1",
    # To ask whether there is a GPU then leaves a process that can be forked.
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
    "PYTHONUNBUFFERED": "1",
}
TEMPORARY_CACHES = (
    "MPLCONFIGDIR TORCHINDUCTOR_CACHE_DIR TRITON_CACHE_DIR NUMBA_CACHE_DIR HF_MODULES_CACHE"
    " TORCH_EXTENSIONS_DIR CUDA_CACHE_PATH"
).split()
_SECRET_NAME = late_pattern(
    r"TOKEN(?!IZ)|SECRET|PASS(W|PHRASE|CODE)|(^|_)CRED|CREDS|CREDENTIAL|PRIVATE"
    # Words that end so: MYPASS, but not a shell's PWD.
    r"|(?<!BY)(?<!COM)(?<!MON)(PASS|PW|(?<!^)(?<!^OLD)PWD|KEYS?|AUTH)\d*(_|$)"
    r"|(^|_)(PAT|(PIN|OTP)(_?CODE)?(?=\d*$))\d*(_|$)"
    r"|AUTHORIZATION|BEARER|JWT|COOKIE|WEBHOOK|(^|_)DSN$|CONN(ECTION)?_?STR",
    re.IGNORECASE,
)
# What may be secret even though it is a small number, which is a size else: `NUM_TOKENS=100`.
_NUMBERED = late_pattern(r"PASS|PW|PIN|OTP|CODE|SECRET", re.IGNORECASE)
_SIZE = late_pattern(r"\d{1,5}")
# Values that contain credentials, whatever the variable is called: a URL with a password or a
# token; `password=…` in a connection string; tokens with a known prefix.
_IN_ADDRESS = r"(?<=://)(?:[^\s/@:'\"]*:[^\s/@'\"]+|[^\s/@:'\"]{12,})(?=@)"
_NAMED = (
    r"\b(?:pass(?:word|wd|phrase)?|pwd|secret|token|sig|\w*(?:api|access|account|private)_?key)"
    r"['\"]?\s*[=:]\s*['\"]?([^\s;&,'\"]{4,})"
)
_TOKENS = (
    r"\b(?:gh[pousr]_|github_pat_|hf_|sk-|xox[abprs]-|glpat-|AKIA|ASIA|AIza|eyJ)[\w.-]{16,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
# `user:password@host` without a scheme, a header, an address that anybody may post to.
_WHOLE = (
    r"^[^\s/@:]+:[^\s/@]{3,}@[\w.-]+|^(?:Basic|Bearer) [\w+/=.-]{8,}$"
    r"|\bhooks\.slack\.com/services/\S+|\bdiscord(?:app)?\.com/api/webhooks/\S+"
)
_SECRET_VALUE = late_pattern(f"{_IN_ADDRESS}|{_NAMED}|{_TOKENS}|{_WHOLE}", re.IGNORECASE)
_CREDENTIALS = late_pattern(f"{_IN_ADDRESS}|{_TOKENS}")  # in any text
# Values that look random: 40 hexadecimal digits; a key in base 64, which has small and capital
# letters and several digits. (The names of GPUs have dashes among their digits.)
_RANDOM = late_pattern(
    r"[0-9a-fA-F]{40,}|(?=.*[a-z])(?=.*[A-Z])(?=.*\d.*\D.*\d)(?!.*[0-9a-f]{8}(-[0-9a-f]{4}){3})"
    r"[\w+=-][\w+/=-]{19,}"
)
# Values that are never secret.
_PLAIN = late_pattern(r".{0,3}|\d{1,9}|true|false|none|null|auto|disabled|enabled", re.I | re.S)
_OF_TOOLS = late_pattern(r"^(SSH|GPG|GIT)_")  # they reach what is not the build's
# What a terminal, a session, a shell or a CI service sets for this one run: no count may depend on
# it, so that a measurement from one terminal is valid in the next, although some library asks for
# its width.
_PASSING = late_pattern(
    r"^(_|SHLVL|PWD|OLDPWD|COLUMNS|LINES|STY|TMUX|DISPLAY|XAUTHORITY|WINDOWID|COLORTERM|VTE_VERSION"
    r"|PRE_COMMIT.*|PYTEST_.*|TERM.*|RUNNER_TRACKING_ID|GITHUB_(RUN|SHA|REF|EVENT|ACTION|ENV|OUTPUT"
    r"|STATE|STEP|PATH|JOB|HEAD|BASE|WORKFLOW|ACTOR|TRIGGERING)(_.*)?|CI_(JOB|PIPELINE|COMMIT|RUNNER"
    r"|BUILD|CONCURRENT|MERGE)_.*|(TMUX|VSCODE|ITERM|KITTY|ALACRITTY|WEZTERM|KONSOLE|WAYLAND|DBUS"
    r"|XDG_SESSION|GNOME_TERMINAL|ZELLIJ|DIRENV|UV_RUN|npm)_.*|ZELLIJ|N?VIM|VIMRUNTIME"
    r"|NVIM_(LISTEN_ADDRESS|LOG_FILE)|WT_(SESSION|PROFILE_ID)|WSL_INTEROP|INSIDE_EMACS|CONDA_SHLVL"
    r"|SESSION_MANAGER|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|MANAGERPID|MAKELEVEL|MAKEFLAGS"
    r"|MFLAGS|HUSKY|LS_COLORS|HIST(SIZE|FILE|FILESIZE|CONTROL)|(GIT_|VISUAL_)?EDITOR|PAGER|LESS"
    r"|CLUTTER_IM_MODULE|GTK_IM_MODULE|QT_IM_MODULE|XMODIFIERS)$"
)
_OWN_SWITCHES = late_pattern(
    r"^NPARAM_LINT_(?!(FORK|KERNEL_GUARD)$)|^PYTHON(HOME|STARTUP|BREAKPOINT|INSPECT)$"
    r"|^VIRTUAL_ENV(_PROMPT)?$"
)


class BuildEnvironment(NamedTuple):
    """`process`: the variables of the worker's process, which any code may read. `on_request`:
    those that Python code gets if it asks for them; that it did is noted."""

    process: dict[str, str]
    on_request: dict[str, str]

    @property
    def visible(self) -> dict[str, str]:
        """All that Python code can see."""
        return self.on_request | self.process

    @property
    def read_by_c(self) -> dict[str, str]:
        """Those that code may have read unseen."""
        return {name: value for name, value in self.process.items() if is_read_by_c(name)}


def worker_environment(
    environ: Mapping[str, str], place: str, python: str = ""
) -> BuildEnvironment:
    """The environment of the worker that is run by `python`: offline, without secrets, without
    variables that would select another interpreter, and without those that differ in every run.
    `place`: the directory where it may write."""
    variables = {
        name: value
        for name, value in environ.items()
        if not _is_left_out(name) and not _is_secret(name, value)
    }
    if variables.get("PATH"):
        # The same in a hook as in a shell, so that both have the same answers: git puts its own
        # directory in front, pre-commit and `activate` that of an environment.
        folders = [os.path.dirname(python)] if os.path.dirname(python) else []
        folders += [
            folder
            for folder in dict.fromkeys(variables["PATH"].split(os.pathsep))
            if os.path.basename(folder) != "git-core"
            and not os.path.isfile(os.path.join(folder, os.pardir, "pyvenv.cfg"))
        ]
        variables["PATH"] = os.pathsep.join(folders)
    process = {
        name: value
        for name, value in variables.items()
        if name in NEEDED or is_read_by_c(name) or name.startswith("NPARAM_LINT_")
    }
    process.update(OFFLINE)
    process.update({name: f"{place}{os.sep}{name.lower()}" for name in TEMPORARY_CACHES})
    process.update(TMPDIR=place, TEMP=place, TMP=place)
    on_request = {name: value for name, value in variables.items() if name not in process}
    return BuildEnvironment(process, on_request)


@cache  # as the next: a run asks four times, and an editor at every edit
def _is_left_out(name: str) -> bool:
    return any(kind.search(name) for kind in (_OF_TOOLS, _OWN_SWITCHES, _PASSING))


@cache
def _is_secret(name: str, value: str) -> bool:
    if _SIZE.fullmatch(value) and not _NUMBERED.search(name):
        return False
    match = _SECRET_NAME.search(name) or _SECRET_VALUE.search(value)
    return match is not None or _is_random(value)


def _is_random(value: str) -> bool:
    return _RANDOM.fullmatch(value) is not None and len(set(value)) > 10


class Secrets:
    """Secrets, which are withheld from builds, and which no report may show: a file of the project
    may contain the same secret."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.names = [name for name, value in environ.items() if _is_secret(name, value)]
        parts = {part for name in self.names for part in _parts(environ[name])}
        parts = {part for part in parts if not _PLAIN.fullmatch(part)}
        self._shown = re.compile("|".join(map(_shown, sorted(parts, key=len, reverse=True))))

    def mask(self, text: str) -> str:
        """`text` with `…` in place of all that is withheld, and of credentials in any address."""
        if self._shown.pattern:
            text = self._shown.sub("…", text)
        return _CREDENTIALS.sub("…", text)


def _parts(value: str) -> Iterator[str]:
    """A secret, and the parts of it that are secret by themselves, as they appear in messages."""
    parts = {value.strip(), " ".join(value.split())}
    for match in _SECRET_VALUE.finditer(value):
        word = match[1] or match[0]
        parts |= {word, word.partition(":")[2]}
    if "/" not in value:  # user:password
        parts.add(value.partition(":")[2])
    parts.update(word for word in re.findall(r"[\w+/=-]{20,}", value) if _is_random(word))
    for part in parts:
        yield part
        yield json.dumps(part)[1:-1]
        yield repr(part)[1:-1]
        if "%" in part:
            yield unquote(part)


def _shown(part: str) -> str:
    """A pattern for where a secret is shown, also where a message was cut in the middle of it."""
    whole = re.escape(part)
    if len(part) < 8:  # it may be part of a word by chance
        return rf"(?<!\w){whole}(?!\w)"
    return rf"{whole}|{re.escape(part[:6])}\S*(?= …)"
