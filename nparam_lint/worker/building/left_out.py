"""Lets a script go on where a statement fails: a file of data may be missing. What later needs a
value of that statement fails, too; so a model that is made all the same depends on none of them."""

import ast
import builtins
import re
import sys
import types

from ..state import STATE
from ..tracing.failures import Loss, describe, missing_package
from ..tracing.project_paths import line_text
from .partial_exec import IMPORTS, dotted, inside, loss_behind
from .placeholders import placeholder
from .unfinished import forget_rest

ERROR, LEFT_OUT, UNKNOWN = "__nparam_error__", "__nparam_left_out__", "__nparam_unknown__"
CAUGHT, KEPT = "__nparam_caught__", "__nparam_kept__"
# Several processes share the model then, of which there is one here.
_PARALLEL = re.compile(r"(^|\.)init\w*_parallel$")
COMPOUND = (ast.If, ast.For, ast.While, ast.With)
LISTS = ("body", "orelse")
GUARDED = (*COMPOUND, *IMPORTS, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Try)
_ASKS_FOR_FILES = re.compile(r"exists|is_?file|is_?dir|listdir|glob")  # in an `assert`
MAY_FAIL = (ast.Call, ast.Name, *IMPORTS)
DEEPEST = 6  # blocks in each other: Python takes 20, and this doubles them
LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Raise)
MOST = 100  # statements: a loop that goes on without its values has no end
# What is called for its effect, and changes nothing that a model is made of.
_OF_RUN = re.compile(
    "(?i)dist|ddp|log|seed|wandb|writ|save|backup|dir|print|plot|summary|device|gpu|cuda|signal"
)
_PLAIN = (str, bytes, int, float, complex, type(None), type, types.ModuleType, types.FunctionType)


class ScriptEnds(BaseException):
    """Ends a script: the model is made, or may be another without what failed."""


def leave_out(tree, path, *, is_script):
    """Let the statements in the functions of a file go on where they fail; those of a script at its
    top, too. What fails in a method of a module fails as a whole, see `left_out`."""
    nodes = [*ast.walk(tree)]
    of_modules = {id(node) for owner in nodes if is_module(owner) for node in owner.body}
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and id(n) not in of_modules]
    for node in nodes:
        if isinstance(node, ast.With) and suppresses(node):
            handler = ast.ExceptHandler(ast.Name(ERROR, ast.Load()), None, [ast.Raise()])
            node.body = [ast.copy_location(ast.Try(node.body, [handler], [], []), node)]
            note_caught(handler, node)
        elif isinstance(node, ast.ExceptHandler):
            note_caught(node, node)
    if is_script:
        tree.body = guarded(tree.body, path, names_set(tree.body))
    for node in functions:
        if not is_generator(node):
            names = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
            node.body = guarded(node.body, path, names | names_set(node.body))
    ast.fix_missing_locations(tree)


def is_module(node):
    """Whether this is the class of a module, as it says itself."""
    methods = node.body if isinstance(node, ast.ClassDef) else ()
    return any(isinstance(m, ast.FunctionDef) and m.name == "forward" for m in methods)


def suppresses(node):
    """Whether what fails in a `with` statement ends it, and the script goes on behind it."""
    calls = (item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call))
    return any(dotted(call.func).rpartition(".")[2] == "suppress" for call in calls)


def note_caught(handler, node):
    handler.body.insert(0, ast.copy_location(ast.parse(f"{CAUGHT}()").body[0], node))


def guarded(statements, path, own, depth=0):
    """Statements, each of which is left out where it fails. `own`: the names of their scope."""
    body = []
    if depth == DEEPEST:
        return statements
    for node in statements:
        may_fail = any(isinstance(part, MAY_FAIL) for part in ast.walk(node))
        # What would come after is not known either.
        leaves = any(isinstance(part, LEAVES) for part in inside(node))
        is_first = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        is_plain = isinstance(node, GUARDED) or (
            isinstance(node, ast.Assert) and _ASKS_FOR_FILES.search(ast.unparse(node.test))
        )
        is_guarded = may_fail and is_plain and not (leaves or is_first)
        # Of what is written there: what is inside gets handlers of its own.
        lost = handled(node, path, own) if is_guarded else []
        if isinstance(node, COMPOUND):
            for name in LISTS:
                setattr(node, name, guarded(getattr(node, name, []), path, own, depth + 1) or [])
            if isinstance(node, ast.With):
                del node.orelse
        if not is_guarded:
            body.append(node)
            continue
        handler = ast.ExceptHandler(ast.Name(ERROR, ast.Load()), None, lost)
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call) and _PARALLEL.search(ast.unparse(call.func)):
            refused = ast.parse("raise NotImplementedError('there is one process here')").body[0]
            node = ast.copy_location(refused, node)
        body.append(ast.copy_location(ast.Try([node], [handler], [], []), node))
    return body


def handled(node, path, own):
    """What is done where a statement fails: all that it sets is not known from then on, and so is
    what it hands to something that may change it."""
    read = sorted(names_in(node, ast.Load))
    arguments = [ast.Constant(path), ast.Constant(node.lineno), ast.Constant(tuple(read))]
    lost = ast.Call(ast.Name(LEFT_OUT, ast.Load()), arguments, [])
    body = [ast.Assign([ast.Name(LEFT_OUT + "value", ast.Store())], lost)]
    value = ast.Name(LEFT_OUT + "value", ast.Load())
    for target in targets_in(node):
        body.append(ast.Assign([target], value))
    changed = {*changed_by_calls(node), *items_set(node)}
    for text in sorted({*changed, *read}):
        if "." in text or text in own:
            function = UNKNOWN if text in changed else KEPT
            body += ast.parse(f"{text} = {function}({text}, {LEFT_OUT}value)").body
    for part in body:
        for inner in ast.walk(part):
            ast.copy_location(inner, node)
    return body


def names_in(node, kind):
    return {n.id for n in inside(node) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def names_set(statements):
    return {name for node in statements for name in names_in(node, ast.Store)}


def is_generator(function):
    kinds = ast.Yield, ast.YieldFrom, ast.Await
    return any(isinstance(node, kinds) for part in function.body for node in inside(part))


def targets_in(node):
    """All that a statement sets: names, attributes and items."""
    names = dict.fromkeys(sorted(names_in(node, ast.Store)))
    for part in inside(node):
        if isinstance(part, ast.alias) and part.name != "*":
            names[(part.asname or part.name).partition(".")[0]] = None
    places = (p for p in inside(node) if isinstance(p, ast.Attribute))
    places = [p for p in places if isinstance(p.ctx, ast.Store)]
    return [*places, *(ast.Name(name, ast.Store()) for name in names)]


def items_set(node):
    """What a statement sets items of: `names` of `names[key] = value`."""
    parts = (p for p in inside(node) if isinstance(p, ast.Subscript))
    return filter(None, (dotted(p.value) for p in parts if isinstance(p.ctx, ast.Store)))


def changed_by_calls(node):
    """The names of what statements hand to calls as a whole, `prepare(args)`, or call a method of,
    `self.config.update(values)`, `vars(args).update(values)`."""
    names = set()
    for part in inside(node):
        call = part.value if isinstance(part, ast.Expr) else None
        if isinstance(call, ast.Call) and not _OF_RUN.search(ast.unparse(call.func)):
            holder = getattr(call.func, "value", None)
            values = [holder, *call.args, *(item.value for item in call.keywords)]
            values += holder.args if isinstance(holder, ast.Call) else []
            texts = (dotted(value) for value in values if value is not None)
            names |= {text.removesuffix(".__dict__") for text in texts}
    return names - {"", "self"}


def left_out(path, line, names):
    """What stands for the values of a statement that has failed. Goes on with the error where no
    script is run, or in the constructor of a module; ends the script where the statement names a
    model, which would be another one without it."""
    error, frame, run = sys.exc_info()[1], sys._getframe(1), STATE.script_run
    module = sys.modules["torch"].nn.Module
    scope = {**frame.f_globals, **frame.f_locals}
    above = frame
    while above is not None and run is not None:
        if isinstance(above.f_locals.get("self"), module):
            raise error
        above = above.f_back
    if run is None:
        raise error
    place, behind = line_text(path, line), error
    while behind is not None and behind is not STATE.refused:
        behind = behind.__cause__ or behind.__context__
    STATE.refused = None if behind is STATE.refused else STATE.refused  # else it was ignored
    run.note_failure(place, error)
    if len(run.failures) > MOST or any(isinstance(scope.get(name), module) for name in names):
        raise ScriptEnds from error
    why = describe(error)
    before = loss_followed(error)
    loss = before or Loss(why, place, missing_package(error), f"{place}: {why}")
    lost = placeholder(place, place, loss)
    run.forgotten = forget_rest(error, line, lost)
    return lost


def loss_followed(error):
    """The Loss that an exception follows from, or of what its message shows a placeholder of."""
    if loss := loss_behind(error):
        return loss
    text = describe(error)
    shown = (p for p in STATE.placeholders.values() if f"<class '{p.__name__}'>" in text)
    return next((each.nparam_loss for each in shown), None)


def unknown(value, lost):
    """What a name stands for that a call was given which has failed."""
    return value if isinstance(value, _PLAIN) else lost


def kept(value, lost):
    """The value of a name, unless what has failed would have changed that object."""
    is_forgotten = any(value is item for item in STATE.script_run.forgotten)
    return lost if is_forgotten else value


def caught():
    """Note that a script has its own way to go on where a value is not known: the model may be
    another one then. A library that does so writes a log, mostly."""
    error = sys.exc_info()[1] if STATE.script_run is not None else None
    while error is not None:
        if type(error) is NameError and hasattr(error, "loss"):
            STATE.refused = STATE.refused or error
        error = error.__cause__ or error.__context__


_OWN = {ERROR: Exception, LEFT_OUT: left_out, UNKNOWN: unknown, KEPT: kept, CAUGHT: caught}
for _name, _value in _OWN.items():
    setattr(builtins, _name, _value)
