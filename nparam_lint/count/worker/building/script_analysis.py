"""What running a file would do, as its source tells."""

from __future__ import annotations

import ast
import re

WORK_CALLS = re.compile(
    r"^_*(main|run|train|test|eval|evaluate|demo|cli|app|start|launch|fit|bench|benchmark|profile|"
    r"export|convert|plot|show|process|experiment|generate|sample|predict|infer|inference)($|_)"
)
WORK_METHODS = frozenset(
    (
        "backward step zero_grad fit train eval item init_process_group show savefig imshow sleep "
        "Fire serve launch mainloop run"
    ).split()
)
WORK_NAMES = {"input", "exec", "exit", "quit", "tqdm", "trange", "DataLoader", "load_dataset"}
HARMLESS_NAMES = frozenset(
    (
        "int float str bool len range dict list set tuple frozenset min max sum sorted zip "
        "enumerate abs round isinstance issubclass hasattr getattr repr reversed map filter any "
        "all type open print Path PosixPath partial namedtuple defaultdict OrderedDict Counter "
        "deque TypeVar NewType ParamSpec field device dtype getLogger"
    ).split()
)
HARMLESS_ROOTS = frozenset(
    (
        "math os sys re logging warnings argparse collections functools itertools operator typing "
        "t dataclasses copy json yaml toml tomllib enum string pathlib np numpy torch th platform "
        "OmegaConf omegaconf easydict"
    ).split()
)
READING_METHODS = set(
    "get keys values items format join split strip lower upper replace copy index startswith "
    "endswith exists read read_text is_available device_count resolve parse_args "
    "parse_known_args".split()
)
UNSAFE_METHODS = set(
    "_exit abort fork forkpty killpg load save memmap fromfile system execv chdir exit kill".split()
)
HARMLESS_METHODS = frozenset(
    (
        "append extend add update insert setdefault get keys values items format join split strip "
        "lower upper replace copy add_argument add_argument_group add_mutually_exclusive_group "
        "set_defaults parse_args parse_known_args is_available device_count setLevel addHandler "
        "exists resolve index startswith endswith read read_text pop"
    ).split()
)


def dotted(node):
    """`a.b.c` for an attribute chain, else the empty string."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
        return ".".join(reversed(parts))
    return ""


def calls_in(node):
    """The calls that running `node` makes; bodies of functions and lambdas only run when called."""
    todo = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            todo.extend(ast.iter_child_nodes(node))


def is_main_guard(node):
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))
    )


def would_work(tree):
    """Whether running the whole file would do a script's work (train, parse, plot) rather than
    define things. Wrong either way is survivable: what runs is guarded and limited, and a file
    that fails is read in part all the same."""
    local = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, (ast.Import, ast.ImportFrom)) or is_main_guard(node):
            continue
        if isinstance(node, ast.While):
            return True
        for call in calls_in(node):
            name = dotted(call.func)
            last = name.rsplit(".", 1)[-1]
            if name in WORK_NAMES or last in ("DataLoader", "load_dataset"):
                return True
            if name in local and WORK_CALLS.match(name):
                return True
            if isinstance(call.func, ast.Attribute) and call.func.attr in WORK_METHODS:
                return True
            if name in ("sys.exit", "torch.save", "wandb.init", "torch.load", "unittest.main"):
                return True
            if any(k.arg == "download" for k in call.keywords):
                return True
    return False


def bound_names(node):
    """The names that a statement would bind or change."""
    names = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, (ast.Store, ast.Del)):
            names.add(child.id)
        elif isinstance(child, (ast.Attribute, ast.Subscript)) and isinstance(
            child.ctx, (ast.Store, ast.Del)
        ):
            base = child
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name):
                names.add(base.id)
        elif isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            names.add(child.name)
        elif isinstance(child, ast.alias):
            names.add((child.asname or child.name).split(".")[0])
    return names


def root_name(node):
    """`a` for `a`, `a.b` or `a[0]`: what a call that is given it may change."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_stored_name(node):
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
