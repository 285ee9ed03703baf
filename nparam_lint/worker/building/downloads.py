"""Recognises that a model tried to download its weights, and finds the call that builds it
without."""

import ast
import collections
import contextlib
import re
import sys
from traceback import walk_tb

from ...ground.script_words import LOADS_WEIGHTS, WEIGHTS_KEY, WEIGHTS_URL, WEIGHTS_WISH
from ..tracing.failures import describe
from ..tracing.project_paths import is_project, relative
from .call_arguments import Calls, is_call, written_in
from .definitions import statements_of
from .side_effect_guard import is_refusal

# Files of packages that fetch weights; and of those that fetch anything.
_HUBS = re.compile(
    r"[/\\](torch[/\\]hub\.py|torchvision[/\\]_internally_replaced_utils\.py"
    r"|timm[/\\]models[/\\]_(hub|builder)\.py|open_clip[/\\]pretrained\.py"
    r"|transformers[/\\](utils[/\\]hub|\w+_utils)\.py|(huggingface_hub|gdown|modelscope)[/\\].*)$"
)
_FETCHERS = re.compile(
    r"[/\\](urllib[/\\]request\.py|http[/\\]client\.py|wget\.py"
    r"|(requests|httpx|urllib3|aiohttp|fsspec)[/\\].*)$"
)
_PROGRAMS = re.compile(r"to start the program '[^']*\b(wget|curl|aria2c|gdown|gsutil)\b")
_HUB_CACHES = re.compile(r"mkdir of '[^']*[/\\]\.cache('|[/\\](?!matplotlib|fontconfig|pip|numba))")
_TOLD = re.compile(r"refused to download (.*?) while it was counting")
# What is called so is weights, or where these are; and the arguments of a model beside them.
_OF_WEIGHTS = re.compile(r"(?i)ckpt|checkpoint|weight|state|path|file|url|download|cache|_dict$")
_OF_MODEL = re.compile(r"(?i)config|(^|_)(args|kwargs|hparams|opts?|hyper_?parameters)$")
# What libraries say if they have to stay offline.
_OFFLINE = re.compile(
    r"offline|LocalEntryNotFound|traffic has been disabled|couldn't connect", re.I
)


class Download:
    """The download that an error is about. `what`: the download, in words; None if the error is
    about something else."""

    def __init__(self, error):
        self.errors = []
        while error is not None and not any(error is before for before in self.errors):
            self.errors.append(error)
            error = error.__cause__ or error.__context__
        # (frame, line) of every active call, the outermost first.
        self.frames = [pair for error in self.errors for pair in walk_tb(error.__traceback__)]
        self.what = self.in_words()

    def in_words(self):
        inner = []  # what the project's code called in the end
        for frame, _ in reversed(self.frames):
            if is_project(frame.f_code.co_filename):
                break
            inner.append(frame)
        files = [frame.f_code.co_filename for frame in inner]
        from_hub = any(map(_HUBS.search, files))
        fetched = from_hub or any(map(_FETCHERS.search, files))
        text = " ".join(map(describe, self.errors))
        is_offline = from_hub and _OFFLINE.search(text)
        if not is_offline and not any(map(is_refusal, self.errors)):
            return None
        refusal = _TOLD.search(text)
        if refusal:
            return refusal[1]
        from_hub = from_hub or _HUB_CACHES.search(text)
        if not (fetched or from_hub or _PROGRAMS.search(text)):
            return None
        address = next(filter(None, map(address_in, inner)), None)
        is_wished = from_hub or any(wish_in(frame) for frame, _ in self.frames)
        what = "weights" if is_wished or (address and WEIGHTS_URL.search(address)) else "a file"
        return f"{what} from {address}" if address else what

    def hint(self, text, names):
        """The next step: the call that needs no download, where an argument says so. `text`: the
        call; `names`: what it is evaluated in."""
        if self.what.startswith("the vocabulary"):
            return "next: load the tokenizer once where there is a network, or pass its size"
        call = None
        with contextlib.suppress(Exception):
            call, _ = without_weights(text, names)
        step = f"build it with {call}" if call else self.change()
        return f"counting needs no downloads; next: {step}"

    def change(self):
        """What to change in the project's code."""
        caller = None
        for frame, line in self.frames:
            wish = wish_in(frame)
            if wish and caller:
                return f"pass {wish[0]}={refusal_of(wish[1])} at {caller}"
            if is_project(frame.f_code.co_filename):
                caller = f"{relative(frame.f_code.co_filename)}:{line}"
        return "let an argument decide whether they are loaded"


def explain(error):
    """An error of an import, in words."""
    what = Download(error).what
    return (f"it needs to download {what}: " if what else "") + describe(error)


def address_in(frame):
    for name in ("url", "fullurl"):
        value = frame.f_locals.get(name)
        value = getattr(value, "full_url", value)
        if isinstance(value, str) and value.startswith(("http://", "https://")):
            return value
    return None


def wish_in(frame):
    """(name, value) of an argument that asked a function for weights."""
    code = frame.f_code
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        if WEIGHTS_WISH.search(name) and is_wish(frame.f_locals.get(name)):
            return name, frame.f_locals[name]
    return None


def is_wish(value):
    """Whether a value asks for weights: True, a name, or a member of an enumeration of them."""
    return value is True or (isinstance(value, str) and value != "") or hasattr(value, "url")


def refusal_of(value, default=True):
    """What an argument is where weights are not wanted: the default, if it says so."""
    return default if not default else False if value is True else None


def without_weights(text, names, is_wished=WEIGHTS_WISH, only_given=False):
    """(the call with other arguments that needs no download, what they were); (None, {}) if there
    are none. `only_given`: of the call's own arguments, and of no call that loads something."""
    tree = ast.parse(text.strip(), mode="eval")
    if not is_call(tree.body):
        return None, {}
    calls, changes, wishes = Calls(tree, names), {}, {}
    for node, signature in calls.calls:
        arguments = written_in(node, signature)
        for name, parameter in signature.parameters.items():
            if only_given and (
                name not in arguments or LOADS_WEIGHTS.search(ast.unparse(node.func))
            ):
                continue
            if is_wished.search(name):
                value = calls.value(arguments[name]) if name in arguments else parameter.default
                if is_wish(value):
                    changes[name] = refusal_of(value, parameter.default)
                    wishes[name] = value
    calls.change(changes)
    return (ast.unparse(tree), wishes) if changes else (None, {})


class PlainCall:
    """A call that failed for lack of weights that it asks for, without these. `text`: None where
    they may decide what is built. `note`: what is left out; `shapes`: those of the parameters that
    were made before it failed, which must be among those of the model."""

    def __init__(self, error, text, names):
        plain, wishes = without_weights(text, names, WEIGHTS_KEY, only_given=True)
        download, says = Download(error), describe(error)
        is_named = any(isinstance(value, str) and value in says for value in wishes.values())
        is_about = is_named or (download.what or "").startswith("weights")
        asked = [pair for pair in download.frames if wish_in(pair[0])]
        is_plain = is_about and (not asked or only_gets_weights(*asked[-1]))
        self.text = plain if is_plain else None
        self.note = "without " + ", ".join(f"{name}={value!r}" for name, value in wishes.items())
        held = (v for frame, _ in download.frames for v in frame.f_locals.values())
        self.shapes = shapes_of(v for v in held if isinstance(v, sys.modules["torch"].nn.Module))


def shapes_of(modules):
    """How many parameters of each shape some modules have, as far as they are made."""
    parameters = {}
    for module in modules:
        with contextlib.suppress(Exception):
            parameters.update((id(p), tuple(p.shape)) for p in module.parameters())
    return collections.Counter(parameters.values())


def only_gets_weights(frame, line):
    """Whether the statement of a frame gives weights, by the names in it, and no model or arguments
    of one, which its function does not read from them either."""
    statements = statements_of(frame.f_code.co_filename)
    around = [node for node in statements if node.lineno <= line <= node.end_lineno]
    function = [node for node in around if isinstance(node, ast.FunctionDef)][-1]
    for node in ast.walk(function):
        key = getattr(node, "slice", None)
        if isinstance(key, ast.Constant) and _OF_MODEL.search(str(key.value)):
            return False
    last = around[-1]
    if isinstance(last, ast.Assign):
        text = ast.unparse(last.targets[0])
    elif isinstance(last, ast.Return):
        text = ast.unparse(getattr(last.value, "func", last))
    else:
        return isinstance(last, (ast.Expr, ast.With, ast.If, ast.Raise, ast.Assert))
    return bool(_OF_WEIGHTS.search(text) and not _OF_MODEL.search(text))
