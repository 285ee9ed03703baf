"""Builds the model of one job, and counts it."""

import contextlib
import dataclasses
import os
import random
import re
import sys
import time
import types
from typing import Callable

from .building.call_target import MISSING_ARGUMENTS, Call, Namespace, resolve_names
from .building.definitions import definitions_of
from .building.device_ladder import RUNGS, SKIPPING, rung
from .building.devices import DEVICES, take_turn
from .building.downloads import Download, shapes_of
from .building.partial_exec import loss_behind
from .building.placeholders import check_model
from .building.plain_gpu import answering, asked, gpu_notes, imported_anew, may_help, other_gpus
from .building.project_import import cause_of
from .building.script_effects import without_effects, without_loaders
from .building.side_effect_guard import RefusedAction, is_refusal, needs_memory
from .counting.count_model import Count
from .counting.fused_layers import fused_model, fusing_methods
from .counting.late_layers import why_incomplete
from .state import STATE
from .torch_compat import Originals
from .tracing.constructions import inside_rows
from .tracing.failures import (
    NO_MORE,
    Failure,
    LostName,
    NextRung,
    NotTracked,
    describe,
    install,
    missing_package,
    root_cause,
)
from .tracing.origin_lines import OriginLines
from .tracing.project_paths import is_ours, line_of_error, relative
from .tracing.read_tracer import record_classes, record_held

OF_DATA = re.compile(r"(?i)data|corpus|vocab")
NOT_THE_DEVICE = (
    NameError,
    ImportError,
    FileNotFoundError,
    SystemExit,
    KeyboardInterrupt,
    MemoryError,
    RefusedAction,
)
MOST_OF_MEMORY = 0.95  # of what a device has free: a model that needs more is not built there
MODELS_AT_A_TIME = 64  # on a device, of those that are not large
# A process that has ended may hold memory of the device for a moment after its turn.
SECONDS_TO_GIVE_BACK = 3
BEFORE_SUPER = re.compile(r"'_(modules|parameters)'|before Module\.__init__\(\) call")
CALL_SUPER = "its constructor must call super().__init__() before it assigns anything"
ONLY_COUNTED = (
    "while a model is counted it may only write to the temporary directory; it may not open "
    "connections or start programs"
)
NO_MEMORY = (
    "here no process can have a /dev/shm of its own (a namespace of Linux, which containers often "
    "forbid), and files that are there already must not be changed; next: make locks, queues and "
    "shared tensors where the model is trained, not in its constructor"
)
TOO_LARGE = re.compile("overflow(ed)? (with sizes|when unpacking)|multiplication overflow", re.I)


def without_weights(address):
    """The note that weights, or other data, are not there."""
    address = relative(address)
    if OF_DATA.search(address):
        return f"without {address}, which is not here"
    return f"the weights from {address} are left out"


@dataclasses.dataclass
class ModelBuild:
    """Builds the model of one job on one rung of the ladder, and counts it. `failures`: what was
    wrong on the rungs before. `traced`: the lines that make its parts are wanted. `tell_alive()`:
    so that waiting for a device is not taken for hanging."""

    job: object
    module: types.ModuleType
    torch: types.ModuleType
    originals: Originals
    failures: list
    traced: bool
    tell_alive: Callable

    def __post_init__(self):
        self.origins, self.recipe = OriginLines(), self.job.build.recipe
        self.call, self.text = None, self.job.label  # none was made
        self.weightless = []  # notes of the arguments for weights that were left out
        self.on_gpus = {}  # results of other machines that differ
        # Another process has built it, and once more with another result: constructors change what
        # is around them. This one has built nothing yet, and builds it as that did then.
        self.doubt = None
        if self.failures and "doubt" in self.failures[-1]:
            *self.failures, last = self.failures
            self.doubt = last["doubt"]

    def run(self):
        hooks = torch_hooks(self.origins) if self.traced else []
        STATE.keeps_arguments = bool(self.job.ask.names)
        start = time.perf_counter()
        try:
            try:
                result = self.climb()
            finally:
                for hook in hooks:
                    hook.remove()
            self.traced = False  # what is noted holds a parameter that another has replaced
            with answering(None):
                self.compare(result)
            result["notes"] = result["notes"] + STATE.refusals + self.partial_notes() + gpu_notes()
            result["notes"] += map(without_weights, self.left_out)
            result["notes"] += self.weightless
        except Failure as failure:
            record_held()  # as long as what failed is there
            result = dict(failure.result, notes=failure.result.get("notes") or STATE.refusals)
            result["asks_gpu"] = may_help(result["cause"])
        return dict(result, seconds=round(time.perf_counter() - start, 4))

    def climb(self):
        """Build on this rung. If that fails, the next rung is tried, unless it is certain to fail
        as well: then the failure is the result."""
        name = RUNGS[len(self.failures)]
        device = name.split()[0]
        try:
            result = self.build_on(name)
        except (Failure, NextRung):
            raise
        except BaseException as raised:
            error = STATE.refused or raised  # code in C says something else of its arguments
            record = {"device": device, "reason": describe(error)}
            # Failed alike without initialisation: initialising it all would only take long.
            again = device == "cpu" and record["reason"] == self.failures[-1]["reason"]
            last = again or isinstance(error, NOT_THE_DEVICE) or name == RUNGS[-1]
            last |= self.job.build.recipe.is_run and may_help("raised")  # the script needs a GPU
            only = self.job.build.device == "meta only" or TOO_LARGE.search(record["reason"])
            if not last and not only:
                raise NextRung([*self.failures, record]) from None
            raise self.failed(error, failed_devices([*self.failures, record])) from None
        result["rung"] = name
        result["devices"] = failed_devices(self.failures)
        result["devices"][device] = {"status": "measured", "total": result["modules"][0]["total"]}
        result["devices"].update(self.on_gpus)
        return result

    def partial_notes(self):
        """Of the model's own file; and of those that it imports which end a process that runs them
        whole, as its program would end."""
        notes, own = [], os.path.realpath(getattr(self.module, "__file__", None) or "")
        paths, files = [own], STATE.record.files
        for path in paths:  # and what that imports in turn
            paths += sorted(files[path].imports.difference(paths)) if path in files else []
        for path in STATE.partial_files.keys() & paths:
            failure = STATE.partial_files[path].failure
            if path in STATE.suspects:
                why = "it failed as a whole: its process ended, or time was over"
            elif path == own:
                why = f"it failed as a whole: {describe(failure)}" if failure else "it is a script"
            else:
                continue
            notes.append(f"{relative(path)} was read in part ({why})")
        return sorted(notes)

    def failed(self, error, devices):
        if isinstance(error, MemoryError):
            reason = f"{self.text} ran out of memory"
            return Failure(
                "NPL005",
                "out_of_memory",
                reason,
                hint=NO_MORE,
                source=line_of_error(error),
                devices=devices,
            )
        record_held()
        verb = "" if isinstance(error, SystemExit) else "raised "
        if isinstance(error, NotTracked):
            verb = "needs a file that git does not have: "
        elif isinstance(error, LostName):
            verb = "failed: "
        download = Download(error)
        if download.what:
            verb = f"needs to download {download.what}: "
        reason = f"{self.text} {verb}{describe(error)}"
        is_early = isinstance(error, AttributeError) and BEFORE_SUPER.search(reason)
        is_denied = is_refusal(error) and not STATE.refusals  # by the kernel, which says no more
        loss = loss_behind(root_cause(error))
        package = (loss and loss.package) or missing_package(error)
        lost = f" ({loss.first})" if loss and not isinstance(error, LostName) else ""
        is_short = isinstance(error, TypeError) and MISSING_ARGUMENTS.search(reason)
        cause = cause_of(error, "arguments_missing" if is_short else "raised")
        unknown = self.call.unknown_argument(error) if self.call else None
        if unknown is not None:
            cause, reason = "argument_unknown", unknown
        lacking, missing = self.call.lacking(error) if self.call else (None, [])
        if missing:
            cause, reason, lost = "arguments_missing", lacking, ""
        denied = NO_MEMORY if needs_memory(error) else ONLY_COUNTED if is_denied else None
        hint = CALL_SUPER if is_early else denied or install(package)
        if download.what:
            cause, hint = "refused", download.hint(self.text, self.call.names)
        return Failure(
            "NPL004",
            "package_missing" if package else cause,
            reason + lost,
            package=package,
            hint=hint,
            source=(loss and loss.line) or line_of_error(error),
            devices=devices,
            missing=missing,
            notes=self.partial_notes(),
        )

    def build(self, around, within=None):
        """One build, in these contexts: (model, call). The arguments are made again each time,
        because constructors change the config objects that they get. (No `ExitStack`: it asks for
        the type of a context, and a project may have put another function in the place of `type`.)
        """
        self.left_out = []
        nothing, is_way = contextlib.nullcontext(), self.job.build.is_way
        folder = os.path.dirname(os.path.join(STATE.root, self.job.file or ""))
        script = without_effects(self.torch, self.left_out, folder) if is_way else nothing
        with around, within or nothing, script:
            if is_way:
                model, call = self.make_way()
            else:
                model, call = self.make_call()
            check_model(model)
            model = only_module(self.torch, model, call.text, is_way)
            if self.recipe.input:
                self.forward(model)
                check_model(model)
        return model, call

    def make_way(self):
        """The same of a way: where it fails for lack of weights, from then on without the arguments
        that ask for them."""
        try:
            return without_loaders(self.make_call, self.torch, self.left_out)
        except Exception as error:
            failure, plain, text = error, self.call and self.call.plain, self.text
            if not plain or plain.text is None:
                raise
        recipe, self.recipe = self.recipe, dataclasses.replace(self.recipe, call=plain.text)
        model, call = without_loaders(self.make_call, self.torch, self.left_out)
        if plain.shapes - shapes_of([only_module(self.torch, model, call.text, True)]):
            self.recipe, self.text = recipe, text
            raise failure
        self.weightless = [plain.note]
        return model, call

    def make_call(self):
        """(what the call gives, call)."""
        call = self.call = Call(self.job, self.module, self.recipe)
        self.text = call.text
        STATE.constructions = {} if self.traced else None
        STATE.origins = self.origins
        try:
            return call(), call
        finally:
            self.text = call.text

    def forward(self, model):
        """Run the declared input through the model, so that lazy parameters get their shapes."""
        names = Namespace(self.module)
        names.setdefault("torch", self.torch)
        value = eval(compile(self.recipe.input, "<nparam input>", "eval"), names)
        model.eval()
        with self.torch.no_grad():
            if isinstance(value, dict):
                model(**value)
            else:
                model(*(value if isinstance(value, tuple) else (value,)))

    def build_on(self, name):
        torch, doubt = self.torch, self.doubt
        seed(torch, doubt["seed"] if doubt else 0)
        before = random_state(torch)
        try:
            model, call = self.build(rung(torch, doubt["rung"] if doubt else name))
        except Exception as error:
            if doubt and doubt["saw_meta"]:
                what = f"cannot be built on the CPU: {describe(error)}"
                raise device_failure(doubt, what) from None
            raise
        text, after = call.text, random_state(torch)
        count = self.count(model)
        incomplete = why_incomplete(count, text, has_run=bool(self.recipe.input))
        if incomplete:
            raise Failure("NPL009", "lazy", incomplete[0], hint=incomplete[1])
        kinds = {type(module) for module in count.modules.values()}
        record_classes(kinds)
        record_held()  # as long as the model is there
        result = count.result(self.job.ask.parameters, self.job.ask.metric)
        names = self.job.ask.names
        result["inside"] = inside_rows(count, names, resolve_names) if self.traced else []
        result["variables"] = call.variables()
        total = result["modules"][0]["total"]
        if self.job.ask.points:
            from .traced_builds import traces

            result["traces"] = traces(self, result["types"], result["variables"])
        if doubt:
            settle(doubt, count, text)
        is_checked = bool(doubt or self.job.ask.points)  # a job without points came before
        is_lost = STATE.read_values and STATE.shrank and name == RUNGS[1] and not is_checked
        if is_lost and self.total_on(RUNGS[-1]) != total:
            raise NextRung(not_skipping("it depends on the values of large tensors"))
        is_random = not is_checked and drew(before, after)
        if number := is_random and self.other_seed(name, total, after):
            raise self.in_doubt(count, text, name, number)
        if STATE.saw_meta and name == RUNGS[0] and self.job.build.device != "cpu" and not doubt:
            self.check_on_cpu(count, text)
        if not (is_checked or self.recipe.is_run):  # most scripts ask for a GPU, to train on it
            self.check_on_gpus(name, count, text)
        if not is_checked:
            result["fusing"] = fusing_methods(kinds)
            if result["fusing"] and self.job.ask.parameters:  # it takes as long as many a build
                with rung(torch, name):
                    fused = fused_model(torch, model)
                if fused:
                    result["fused"] = self.count(fused).count_rows()["total"]
        result["call"] = text
        result["definitions"] = definitions_of(call.function, self.job)
        self.signature, self.first = count.signature, (name, total)  # of the first build
        resolved = resolve_names(names, call.arguments, model, call.function)
        result["names"], result["known_names"] = resolved
        return result

    def other_seed(self, name, total, after):
        """A seed with which a model that draws random numbers has another count; 0 where it has the
        same. `after`: the state of the generators after the build that gave the total."""
        for number in (1, 2, 3):
            seed(self.torch, number)
            next_total = self.total_on(name)
            is_seeded = number == 1 and self.torch.equal(after[2], random_state(self.torch)[2])
            # What it draws depends on what the initialisers before have drawn.
            if is_seeded and name != RUNGS[-1] and self.total_on(RUNGS[-1]) != total:
                raise NextRung(not_skipping("its widths depend on what its initialisers draw"))
            if next_total != total:
                return number
        return 0

    def count(self, model):
        return Count(self.originals, model, self.origins, self.recipe.experts_per_token)

    def total_on(self, name):
        """Of one more build on a rung; None where it fails."""
        try:
            model, _ = self.build(rung(self.torch, name))
        except (Exception, SystemExit):
            return None
        return self.count(model).count_rows()["total"]

    def in_doubt(self, count, text, name, number):
        """That another process, which has built nothing yet, has to build it with this seed on this
        rung."""
        doubt = {"rung": name, "seed": number, "row": count.rows[0], "text": text}
        doubt["saw_meta"] = None if number else STATE.saw_meta
        doubt["signature"] = [[*map(str, parameter)] for parameter in count.signature()]
        return NextRung([*self.failures, {"doubt": doubt}])

    def check_on_cpu(self, count, text):
        """A constructor that could notice that it was run on meta must build the same model on the
        CPU."""
        for name in RUNGS[1:]:
            seed(self.torch, 0)
            try:
                model, _ = self.build(rung(self.torch, name))
                is_same = not differing(count.rows[0], count.signature(), self.count(model))
            except Exception:
                is_same = False
            if not is_same:
                raise self.in_doubt(count, text, name, 0)
            if not (STATE.read_values and STATE.shrank):
                return  # it has read nothing that only initialisers fill

    def check_on_gpus(self, name, count, text):
        """A count that depends on what is asked of CUDA is said; where all answers were those of a
        machine that is not there, it is no count."""
        total = count.rows[0]["total"]
        for gpu in other_gpus():
            seed(self.torch, 0)
            try:
                with answering(gpu), imported_anew(self):
                    model, _ = self.build(rung(self.torch, name))
            except (Exception, SystemExit):  # it may lack what only a GPU has
                continue
            gpu_count = self.count(model)
            gpu_total = gpu_count.count_rows()["total"]
            if gpu_total == total or self.total_on(name) != total:
                continue  # or it counts its builds: what the last ones differ in is not the GPU
            if STATE.gpu is not None:
                reason = (
                    f"{text} has {total:,} parameters on one {STATE.gpu.name} and {gpu_total:,} "
                )
                reason += f"on one {gpu.name}; asked: {asked()}"
                hint = "make what it asks for an argument, and declare the count of each value"
                raise Failure("NPL004", "device", reason, hint=hint, depends_on_gpu=True)
            texts = differences(count.signature(), gpu_count.signature())
            answer = {"status": "measured", "total": gpu_total, "differences": texts}
            self.on_gpus[f"a machine with one {gpu.name}"] = answer

    def compare(self, result):
        """Build again, for real, on each device that was asked for, and compare parameter by
        parameter with what was counted first."""
        choice = self.job.build.device
        for name, device in DEVICES.items():
            if name != choice and not (choice == "auto" and device.IS_AUTOMATIC):
                continue
            if result["devices"].get(name, {}).get("status") == "measured":
                continue  # it was counted there in the first place
            why = device.why_absent(self.torch)
            if why is None:
                result["devices"][device.LABEL] = self.on_device(name, device, result)
            else:
                result["devices"][name] = {"status": "skipped", "reason": why, "is_absent": True}

    def on_device(self, name, device, result):
        """Others are built there at the same time, unless this one is large."""
        need = result["modules"][0]["bytes"]
        try:
            free = device.free_bytes(self.torch)
            is_large = free is not None and need > free / MODELS_AT_A_TIME
            take_turn(name, is_large, self.tell_alive)
            last_try = time.monotonic() + SECONDS_TO_GIVE_BACK
            while is_large and need > MOST_OF_MEMORY * (free := device.free_bytes(self.torch)):
                if time.monotonic() > last_try:
                    reason = f"needs {need:,} bytes; {free:,} are free, "
                    reason += f"of which {MOST_OF_MEMORY:.0%} are used at most"
                    return {"status": "skipped", "reason": reason}
                time.sleep(0.05)
            return self.built_on(device)
        except Exception as error:
            return {"status": "failed", "reason": describe(error)}

    def built_on(self, device):
        torch, before = self.torch, device.allocated_bytes(self.torch)
        seed(torch, 0)
        model, _ = self.build(torch.device(device.LABEL))
        if device.LABEL != "cpu":  # what its constructor made elsewhere
            with torch.device(device.LABEL):
                torch.nn.Module.to(model, device.LABEL)
        count = self.count(model)
        answer = {"status": "measured", "total": count.count_rows()["total"]}
        if before is not None:
            answer["bytes"] = device.allocated_bytes(torch) - before
        answer["differences"] = differences(self.signature(), count.signature())
        rung_name, total = self.first
        if answer["differences"] and self.total_on(rung_name) != total:
            reason = "built again in the same way, it has another count: it may count its builds"
            return {"status": "skipped", "reason": reason}
        return answer


def differing(row, signature, count):
    """Texts for what a Count has in another way than another build: its parameters, its sums."""
    texts = differences(signature, count.signature())
    for field, value in count.count_rows().items():
        if value != row.get(field):
            texts.append(f"{field}: {row.get(field)}, then {value}")
    return texts


def settle(doubt, count, text):
    """Raise a Failure if a process of its own has built another model as well."""
    if doubt["saw_meta"]:
        texts = differing(doubt["row"], doubt["signature"], count)
        if texts:
            what = "has different parameters on meta and on the CPU: " + "; ".join(texts[:3])
            raise device_failure(doubt, what)
        return
    total, next_total = doubt["row"]["total"], count.rows[0]["total"]
    if next_total != total:
        reason = f"{text} has {total:,} parameters in one build and {next_total:,} in the next: "
        reason += "its widths come from random numbers"
        hint = "give the constructor fixed widths, or fix them in the call"
        raise Failure("NPL004", "random", reason, hint=hint)


def device_failure(doubt, what):
    where = doubt["saw_meta"]
    reason = f"{doubt['text']} looks at the device that it is built on (at {where}), and {what}"
    hint = "make the constructor build the same model on every device: it is counted on meta"
    return Failure("NPL004", "device", reason, hint=hint, source=where)


def not_skipping(reason):
    """Why nothing is counted on the rungs on which initialisers do nothing."""
    return [{"device": name.split()[0], "reason": reason} for name in SKIPPING]


def failed_devices(failures):
    """Name of a device -> why nothing was built there first."""
    devices = {}
    for record in failures:
        devices.setdefault(record["device"], {"status": "failed", "reason": record["reason"]})
    return devices


def torch_hooks(origins):
    """Tell where each parameter and each module is registered, with torch's own hooks
    (https://github.com/pytorch/pytorch/pull/86148)."""
    from torch.nn.modules import module as registry

    return [
        registry.register_module_parameter_registration_hook(origins.note_parameter),
        registry.register_module_module_registration_hook(origins.note_module),
    ]


def only_module(torch, value, text, is_way=False):
    """The model that a call returned; factories often return it together with other things, such as
    a criterion without parameters. Several that a way gives are the parts of one. Lightning's is
    completed as its trainer does."""
    items = list(value.values()) if isinstance(value, dict) else value
    if hasattr(type(value), "__dataclass_fields__") and not isinstance(value, torch.nn.Module):
        items = [getattr(value, name, None) for name in type(value).__dataclass_fields__]
    items = items if isinstance(items, (list, tuple)) else [items]
    modules = [v for v in items if isinstance(v, torch.nn.Module)]
    if not modules and is_ours(sys.modules.get(type(value).__module__)):
        modules = [*filter(None, [held_model(torch, value)])]
    if len(modules) > 1:
        parameters = torch.nn.Module.parameters
        modules = [m for m in modules if next(parameters(m), None) is not None] or modules
    if len(modules) == 1:
        if any(kind.__name__ == "LightningModule" for kind in type(modules[0]).__mro__):
            getattr(modules[0], "configure_model", bool)()  # there is none before Lightning 2.0
        return modules[0]
    if modules and is_way:
        kinds = [type(module).__name__ for module in modules]
        numbers = [kinds[:n].count(kind) for n, kind in enumerate(kinds)]
        names = [f"{kind}{number or ''}" for kind, number in zip(kinds, numbers)]
        return with_parts(torch, value, dict(zip(names, modules)))
    what = f"{type(value).__name__}, not a model"
    if modules:
        kinds = ", ".join(type(module).__name__ for module in modules)
        what = f"{len(modules)} models ({kinds}), not one"
    reason = f"{text} returned {what}"
    raise Failure("NPL004", "not_a_model", reason)


def held_model(torch, holder):
    """The network that an object of the project holds, which is no module itself (a trainer, an
    agent, `CycleGANModel`); several as the parts of one; None where it holds none."""
    values = getattr(holder, "__dict__", {}).items()
    held = {name: value for name, value in values if isinstance(value, torch.nn.Module)}
    return with_parts(torch, holder, held) if len(held) > 1 else next(iter(held.values()), None)


def with_parts(torch, holder, parts):
    """A model called as the type of what holds these."""
    kind = type(type(holder).__name__, (torch.nn.Module,), {"__module__": type(holder).__module__})
    model = kind()
    for name, module in parts.items():
        model.add_module(name, module)
    return model


def seed(torch, value):
    random.seed(value)
    if "numpy.random" in sys.modules:  # to import it takes longer than many a build
        with contextlib.suppress(Exception):
            sys.modules["numpy.random"].seed(value)
    torch.default_generator.manual_seed(value)


def random_state(torch):
    """What changes when a constructor draws random numbers."""
    numpy = None
    if "numpy.random" in sys.modules:
        with contextlib.suppress(Exception):
            state = sys.modules["numpy.random"].get_state()
            numpy = (bytes(state[1].data), state[2])
    return random.getstate(), numpy, torch.default_generator.get_state()


def drew(before, after):
    """Whether a build may have taken a width from a random number: one of Python's or numpy's, or
    one of torch's, if it read any value at all. A script that seeds them draws the same each
    time."""
    if STATE.is_seeded:
        return False
    if before[:2] != after[:2]:
        return True
    return STATE.read_values and before[2].tolist() != after[2].tolist()


def differences(first, second):
    """Texts for the parameters whose name, shape or dtype is not the same in both builds."""
    builds = [{name: f"{shape} {dtype}" for name, shape, dtype in each} for each in (first, second)]
    texts = []
    for name in dict.fromkeys([*builds[0], *builds[1]]):
        before, after = (build.get(name, "absent") for build in builds)
        if before != after:
            texts.append(f"{name}: {before}, then {after}")
    return texts[:20]
