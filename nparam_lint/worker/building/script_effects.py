"""Builds a model as the repository does, without what a script does beside: pretrained weights that
would be downloaded, or that were and are not here, stay as they were initialised, which no count
depends on; no directories are made for results, and nothing is written. Only for what is evidence:
of a declared model this is refused."""

import builtins
import collections
import contextlib
import dis
import functools
import io
import os
import re
import subprocess
import sys

from ...ground.script_words import WEIGHTS_URL
from ..state import STATE
from .downloads import Download
from .side_effect_guard import RefusedAction, may_write

# What a method calls that adds something to its module.
_ADDS = frozenset(
    "setattr add_module register_module register_parameter register_buffer Parameter append extend "
    "insert update Linear".split()
)
# What fetches files, by the modules that have it. Of weights nothing is fetched.
_FETCHERS = {
    "torch.hub": "download_url_to_file",
    "urllib.request": "urlretrieve",
    "wget": "download",
    "gdown": "download",
    "huggingface_hub.file_download": "hf_hub_download",
}
_OF_RESULTS = re.compile(
    r"(?i)log|run|out|result|save|ckpt|checkpoint|exp|model|weight|te?mp|board"
)
_TIMM_BUILDERS = "timm.models._builder", "timm.models.helpers"
_TIMM_FACTORIES = "timm.models._factory", "timm.models.factory"
_LIGHTNING = "pytorch_lightning", "lightning.pytorch", "lightning"
# What `create_model` gives that it did not when many repositories were written.
_NOT_IN_OLD_TIMM = "pretrained_cfg", "pretrained_cfg_overlay", "cache_dir", "bn_tf"
# Names in a checkpoint: those of state dicts, and of what says how a model is built.
_OF_WEIGHTS = re.compile(
    r"(?i)state|weight|model|net|param|ema|module|coder|head|optim|sched|backbone|student|teacher|gen"
    r"|disc|actor|critic|policy|extract|embed|scaler|amp|^[a-z]$"
)
_OF_CALL = re.compile(
    r"(?i)arg|conf|cfg|hyper|h_?param|option|opts?$|setting|size|dim|width|depth|^n_|num|name|arch"
    r"|class|vocab"
)
_Keys = collections.namedtuple("_Keys", "missing_keys unexpected_keys")


class AbsentWeights(dict):
    """Stands for a state dict, and for all that is in it: a shape that is compared with one of the
    model is another. It is no number and no tensor, so that no layer is made of it, and nobody
    knows how many it has. What is stored beside weights is an `AbsentValue`."""

    def __getattr__(self, name):
        if name not in ("shape", "size", "sum", "mean", "repeat", "float"):
            raise AttributeError(name)
        return self

    def __contains__(self, name):
        return True

    def __delitem__(self, name):
        pass

    def __iter__(self):  # Python asks a dictionary with an iterator of its own for its `keys`
        return super().__iter__()

    def __bool__(self):
        return True

    def __len__(self):
        raise TypeError("the weights are not here")

    def keys(self):
        frame = sys._getframe(1)
        if dis.opname[frame.f_code.co_code[frame.f_lasti]] == "DICT_MERGE":
            raise TypeError("the arguments of the model are stored with weights that are not here")
        return super().keys()

    def __getitem__(self, name):
        is_value = isinstance(name, str) and "." not in name and name != ""
        if is_value and (_OF_CALL.search(name) or not _OF_WEIGHTS.search(name)):
            return AbsentValue(name)
        return self

    def get(self, name, default=None):
        return self[name]

    def itself(self, *args, **kwargs):
        return self

    pop, __call__, copy = get, itself, itself


class AbsentValue:
    """Stands for what is stored under a name with weights that are not here, such as the arguments
    of a model: it can be kept, and loaded into a model, and decides nothing."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def refuse(self, *args):
        raise TypeError(f"{self.name!r} is stored with weights that are not here")

    keys = __iter__ = __len__ = __bool__ = __contains__ = __getitem__ = __eq__ = refuse
    __hash__ = None


@contextlib.contextmanager
def without_effects(torch, addresses, folder):
    """In this context weights that would be downloaded, or that are not here, are left out, and
    their addresses are added to the list; files are read, but none is written. `folder`: that of
    the script."""
    folder = ScriptFolder(folder)
    load_known = loading_no_weights(torch.nn.Module.load_state_dict, addresses)
    methods = [(torch.nn.Module, "load_state_dict", load_known)]
    if logging := sys.modules.get("accelerate.logging"):  # it insists on what a script makes
        methods.append((logging.MultiProcessAdapter, "log", do_nothing))
    changes = [*of_files(folder), *of_weights(torch, addresses), *of_older_versions()]
    with contextlib.ExitStack() as undo:
        undo.callback(os.chdir, os.getcwd())
        for names, name, value in changes:
            undo.callback(names.__setitem__, name, names[name])
            names[name] = value
        for kind, name, method in methods:
            undo.callback(setattr, kind, name, getattr(kind, name))
            setattr(kind, name, method)
        for name in _LIGHTNING:
            trainer = getattr(sys.modules.get(name), "Trainer", None)
            if trainer and not hasattr(trainer, "add_argparse_args"):
                undo.callback(delattr, trainer, "add_argparse_args")
                trainer.add_argparse_args = staticmethod(as_it_was)
        yield


def of_files(folder):
    """(names, name, function in its place) of what writes or lists results, and of programs."""
    return [
        (vars(builtins), "open", functools.partial(open_known, builtins.open, folder)),
        (vars(io), "open", functools.partial(open_known, io.open, folder)),
        (vars(subprocess), "run", functools.partial(run_none, subprocess.run)),
        (vars(os), "listdir", functools.partial(list_known, os.listdir)),
        (vars(os), "mkdir", functools.partial(make_temporary, os.mkdir)),
        (vars(os), "makedirs", functools.partial(make_temporary, os.makedirs)),
    ]


def of_weights(torch, addresses):
    """The same of what fetches weights, or reads them: also where a file has imported it."""
    yield vars(torch.hub), "list", lambda *args, **kwargs: []
    yield vars(torch), "load", functools.partial(read_known, addresses, torch.load)
    fetch = torch.hub.load_state_dict_from_url
    in_place_of = {id(fetch): functools.partial(fetch_nothing, addresses)}
    called = {"load_state_dict_from_url", "load_url"}  # as it was called before
    if safetensors := sys.modules.get("safetensors.torch"):
        load_file = safetensors.load_file
        in_place_of[id(load_file)] = functools.partial(read_known, addresses, load_file)
        called.add("load_file")
    for place in _TIMM_BUILDERS:
        if load := getattr(sys.modules.get(place), "load_pretrained", None):
            in_place_of[id(load)] = functools.partial(load_nothing, addresses)
            called.add("load_pretrained")
    for place, name in _FETCHERS.items():
        if module := sys.modules.get(place):
            function = getattr(module, name)
            in_place_of[id(function)] = fetching_no_weights(function, addresses)
            called.add(name)
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        for name in called:
            value = names.get(name)  # timm has `partial(hf_hub_download, library_name="timm")`
            if function := in_place_of.get(id(getattr(value, "func", value))):
                yield names, name, function


def of_older_versions():
    """The same of what libraries took when the project was written."""
    if yaml := sys.modules.get("yaml"):
        for name in ("load", "load_all"):
            yield vars(yaml), name, functools.partial(plain_load, getattr(yaml, name), yaml)
    for name in _TIMM_FACTORIES:
        names = getattr(sys.modules.get(name), "__dict__", {})
        if find := names.get("model_entrypoint"):
            yield names, "model_entrypoint", functools.partial(plain_entrypoint, find)


def open_known(open_file, folder, file, mode="r", *args, **kwargs):
    """What is written, such as the options of a run, goes nowhere; a file that is read as well
    (`r+`, `a+`), or a temporary one, is opened as it is, and so is what gets its name by an
    `opener` (`tempfile`). One that only the `folder` of the script has tells that it is run
    there."""
    is_written = re.sub("[bt]", "", str(mode)) in ("w", "w+", "x", "x+", "a")
    is_named = isinstance(file, (str, bytes, os.PathLike)) and "opener" not in kwargs
    if is_written and is_named and not may_write(file):
        return io.BytesIO() if "b" in mode else io.StringIO()
    try:
        opened = open_file(file, mode, *args, **kwargs)
    except FileNotFoundError:
        if not (is_named and folder.is_entered(open_file, file)):
            raise
        return open_file(file, mode, *args, **kwargs)
    folder.names.extend([file] if is_named else [])
    return opened


class ScriptFolder:
    """The folder of a script, in which it is run if it opens what is there alone; `names`: of the
    files that were opened before."""

    def __init__(self, path):
        self.path, self.names = path, []

    def is_entered(self, open_file, name):
        """Whether this is the working directory from now on: it has the file, and no other one by
        a name that was opened before. Asked by opening them, which is noted."""
        before = [os.fsdecode(other) for other in self.names]
        others = [other for other in before if not os.path.isabs(other)]
        if not self.has(open_file, name) or any(self.has(open_file, other) for other in others):
            return False
        os.chdir(self.path)
        return True

    def has(self, open_file, name):
        try:
            open_file(os.path.join(self.path, os.fsdecode(name)), "rb").close()
        except OSError:
            return False
        return True


def list_known(list_directory, path="."):
    """Of a directory for results, which was not made, nothing."""
    is_path = isinstance(path, (str, bytes, os.PathLike))
    is_result = is_path and _OF_RESULTS.search(os.fsdecode(path)) and not os.path.exists(path)
    return [] if is_result else list_directory(path)


def make_temporary(make, path, *args, **kwargs):
    if may_write(path):
        make(path, *args, **kwargs)


def run_none(run, *args, **kwargs):
    """A program that is refused fails as one that is not there does in a shell, which scripts that
    ask git for their version are prepared for."""
    try:
        return run(*args, **kwargs)
    except RefusedAction as refusal:
        command, output = args[0] if args else kwargs["args"], b""
        if any(map(kwargs.get, ("text", "universal_newlines", "encoding", "errors"))):
            output = ""
        if kwargs.get("check"):
            raise subprocess.CalledProcessError(127, command, output, output) from refusal
        return subprocess.CompletedProcess(command, 127, output, output)


def fetch_nothing(addresses, url, *args, **kwargs):
    addresses.append(url)
    return AbsentWeights()


def read_known(addresses, load_file, *args, **kwargs):
    file = args[0] if args else kwargs.get("f", kwargs.get("filename"))
    if isinstance(file, (str, os.PathLike)) and not os.path.exists(file):
        addresses.append(os.fspath(file))
        return AbsentWeights()
    return load_file(*args, **kwargs)


def loading_no_weights(load_state, addresses):
    """The method `load_state_dict`, without what is absent."""

    def load_known(self, state_dict, *args, **kwargs):
        absent = AbsentWeights, AbsentValue
        if isinstance(state_dict, absent):
            return _Keys([], [])
        # Also what was made of them: `{name: value for name, value in weights.items()}`.
        if addresses and all(isinstance(value, absent) for value in dict(state_dict).values()):
            return _Keys([], [])
        return load_state(self, state_dict, *args, **kwargs)

    return load_known


def load_nothing(addresses, model, pretrained_cfg=None, *args, **kwargs):
    """In the place of what timm loads weights into a model with, when that is made."""
    config = pretrained_cfg or getattr(model, "pretrained_cfg", None) or {}
    config = config if isinstance(config, dict) else vars(config)
    known = (config.get(key) for key in ("file", "hf_hub_id", "url", "architecture"))
    addresses.append(str(next(filter(None, known), type(model).__name__)))


def fetching_no_weights(fetch, addresses):
    """A function that fetches files, with whatever arguments, except those of weights, whose
    addresses are added to the list: it gives where such a file would be."""

    @functools.wraps(fetch)
    def fetch_known(*args, **kwargs):
        values = (*args, *kwargs.values())
        texts = [os.fspath(value) for value in values if isinstance(value, (str, os.PathLike))]
        weights = [text for text in texts if isinstance(text, str) and WEIGHTS_URL.search(text)]
        if not weights:
            return fetch(*args, **kwargs)
        addresses.append(weights[0])
        path = weights[-1].rpartition("/")[2] if "://" in weights[-1] else weights[-1]
        return (path, None) if fetch.__name__ == "urlretrieve" else path

    return fetch_known


def plain_load(load, yaml, stream, Loader=None):
    """`yaml.load` or `load_all` as it was before PyYAML 6, when it needed no loader."""
    return load(stream, Loader or yaml.FullLoader)


def as_it_was(parser, **options):
    """A parser without the options of Lightning's trainer, which version 1 added to it."""
    return parser


def plain_entrypoint(find, name, *args):
    """The function that timm has registered under a name; one that was written for an older timm
    does not get what `create_model` gives since then."""
    function = find(name, *args)

    @functools.wraps(function)
    def build(**arguments):
        try:
            return function(**arguments)
        except TypeError as error:
            word = next((word for word in _NOT_IN_OLD_TIMM if f"'{word}'" in str(error)), None)
            if word is None or arguments.get(word):
                raise
        STATE.refusals.append(f"{name} does not take the {word} of this timm: called without")
        plain = {k: v for k, v in arguments.items() if k not in _NOT_IN_OLD_TIMM}
        return function(**plain)

    return build


def without_loaders(build, torch, addresses):
    """What `build()` gives, once more without each method that failed, if it loads weights into a
    module and does nothing else. `addresses` gets what it would have fetched."""
    with contextlib.ExitStack() as undo:
        while True:
            try:
                return build()
            except Exception as error:
                loader = failed_loader(error, torch)
                if loader is None:
                    raise
                kind, name, method, address = loader
                undo.callback(setattr, kind, name, method)
                setattr(kind, name, do_nothing)
                addresses.append(address)


def failed_loader(error, torch):
    """(class, name, method, what it fetches) of such a method, if an exception comes from one."""
    download = Download(error)
    for frame, _ in reversed(download.frames):
        owner, code = frame.f_locals.get("self"), frame.f_code
        is_method = isinstance(owner, torch.nn.Module) and code.co_name != "__init__"
        if is_method and only_loads(code):
            for kind in type(owner).__mro__:
                method = vars(kind).get(code.co_name)
                if getattr(method, "__code__", None) is code:
                    address = (download.what or "").partition(" from ")[2] or code.co_name
                    return kind, code.co_name, method, address
    return None


def only_loads(code):
    """Whether a method loads a state dict, and adds nothing to what it belongs to."""
    stores = any(step.opname == "STORE_ATTR" for step in dis.get_instructions(code))
    return "load_state_dict" in code.co_names and not stores and _ADDS.isdisjoint(code.co_names)


def do_nothing(*args, **kwargs):
    pass
