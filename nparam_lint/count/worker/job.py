"""Builds the model of one job, and counts it."""

from __future__ import annotations

import contextlib
import random
import re
import sys

from .building.call_target import Call, resolve_names
from .building.device_ladder import RUNGS, rung
from .building.devices import devices_to_compare
from .building.partial_exec import explain_name_error, partial_file_of
from .building.side_effect_guard import RefusedAction, is_refusal
from .counting.count_model import Count
from .state import STATE
from .tracing.failures import Failure, NextRung, NotTracked, describe, missing_package
from .tracing.project_paths import line_of, line_of_error, relative
from .tracing.read_tracer import record_callers, record_classes

NEVER_THE_DEVICE = (
    NameError,
    ImportError,
    SystemExit,
    KeyboardInterrupt,
    MemoryError,
    RefusedAction,
)
MOST_OF_MEMORY = 0.95  # of what a device has free: a model that needs more is not built there
MISSING_ARGUMENTS = re.compile(r"missing \d+ required .*argument")  # as Python words it
TOO_LARGE = re.compile("overflow(ed)? (with sizes|when unpacking)|multiplication overflow", re.I)


class ModelBuild:
    """Builds the model of one job on one rung of the ladder, and counts it. `failures`: what was
    wrong on the rungs before. `traced`: the lines that make its parts are wanted."""

    def __init__(self, job, module, torch, mode, failures=(), traced=True):
        self.traced = traced
        self.job, self.module, self.torch, self.mode = job, module, torch, mode
        self.failures, self.rung = list(failures), len(failures)
        # id -> line, and the objects themselves: an id must not be given away while it counts.
        self.sources = {"parameters": {}, "modules": {}, "objects": []}

    def run(self):
        hooks = torch_hooks(self.torch, self.sources) if self.traced else []
        try:
            return self.climb()
        finally:
            for hook in hooks:
                hook.remove()

    def climb(self):
        """Build on this rung. What fails there may be carried by the next, unless it is certain to
        fail again: then the failure is the result."""
        name = RUNGS[self.rung]
        device = name.split()[0]
        try:
            result = self.once(name)
        except Failure:
            raise
        except BaseException as error:
            record = {"device": device, "reason": describe(error)}
            # Failed alike without initialisation: initialising it all would only take long.
            again = device == "cpu" and record["reason"] == self.failures[-1]["reason"]
            last = again or isinstance(error, NEVER_THE_DEVICE) or name == RUNGS[-1]
            only = self.job.get("device") == "meta only" or TOO_LARGE.search(record["reason"])
            if not last and not only:
                raise NextRung([*self.failures, record]) from None
            raise self.failed(error, self.devices([*self.failures, record])) from None
        result["rung"] = name
        result["devices"] = self.devices(self.failures)
        result["devices"][device] = {"status": "measured", "total": result["counts"]["total"]}
        self.compare(result)
        result["notes"] = result["notes"] + STATE.refusals + self.partial_note()
        result.pop("signature")
        return result

    @staticmethod
    def devices(failures):
        first = {}
        for record in failures:
            first.setdefault(record["device"], {"status": "failed", "reason": record["reason"]})
        return first

    def partial_note(self):
        part = partial_file_of(self.module)
        if part is None:
            return []
        why = (
            "it failed as a whole: " + describe(part.failure) if part.failure else "it is a script"
        )
        return ["{} was read in part ({})".format(relative(part.path), why)]

    def failed(self, error, devices):
        call = self.text
        if isinstance(error, MemoryError):
            reason = "{} ran out of memory".format(call)
            return Failure("NPL005", "out_of_memory", reason, devices=devices)
        reason = "{} raised {}".format(call, describe(error))
        if isinstance(error, SystemExit):
            reason = "{} {}".format(call, describe(error))
        elif isinstance(error, NotTracked):
            reason = "{} needs what git does not have: {}".format(call, describe(error))
        hint = None
        if isinstance(error, AttributeError) and re.search(
            r"'_(modules|parameters)'|before Module\.__init__\(\) call", reason
        ):
            hint = "its constructor must call super().__init__() before it assigns anything"
        elif is_refusal(error) and not STATE.refusals:
            hint = (
                "while a model is counted it may write to the temporary directory alone; it may "
                "connect to nothing, and start no programs"
            )
        lost, package = explain_name_error(error, self.module)
        package = package or missing_package(error)
        return Failure(
            "NPL004",
            "package_missing" if package else cause_of(error),
            reason + lost,
            package=package,
            hint=hint,
            source=line_of_error(error),
            devices=devices,
            notes=self.partial_note(),
        )

    def build(self, context):
        """One build: (model, call). The call is made anew each time, because constructors change
        the config objects that they are given."""
        call = Call(self.job, self.module)
        self.text = call.text
        with context:
            try:
                model = call()
            finally:
                self.text = call.text
            model = only_module(self.torch, model, call.text)
            if self.job.get("input"):
                self.forward(model)
        return model, call

    def forward(self, model):
        """Run the declared input through the model, so that lazy parameters get their shapes."""
        names = Call(dict(self.job, call=self.job["input"]), self.module).namespace()
        names.setdefault("torch", self.torch)
        value = eval(compile(self.job["input"], "<nparam input>", "eval"), names)
        model.eval()
        with self.torch.no_grad():
            if isinstance(value, dict):
                model(**value)
            else:
                model(*(value if isinstance(value, tuple) else (value,)))

    def once(self, name):
        torch = self.torch
        for lines in self.sources.values():
            lines.clear()
        seed(torch, 0)
        before = random_state(torch)
        model, call = self.build(rung(self.mode, name))
        count = Count(torch, model, self.sources, self.job.get("experts_per_token"))
        if count.lazy:
            raise Failure(
                "NPL009",
                "lazy",
                "{} has {} uninitialised lazy parameters: {}".format(
                    call.text, len(count.lazy), ", ".join(count.lazy[:4])
                ),
                hint='declare an input: {{ call = "{}", input = "torch.zeros(1, …)" }}'.format(
                    call.text
                ),
            )
        record_classes({type(module) for module in count.by_id.values()})
        result = count.result(self.job.get("parameters", False))
        for another in (1, 2, 3) if drew(before, random_state(torch)) else ():
            seed(torch, another)
            again, _ = self.build(rung(self.mode, name))
            other = Count(torch, again, self.sources).totals()["total"]
            if other != result["counts"]["total"]:
                raise Failure(
                    "NPL004",
                    "random",
                    "{} has {:,} parameters in one build and {:,} in the next: its widths come "
                    "from random numbers".format(call.text, result["counts"]["total"], other),
                    hint="give the constructor fixed widths, or fix them in the call",
                )
        result["call"] = call.text
        result["signature"] = count.signature
        result["names"], result["known_names"] = resolve_names(
            self.job.get("names", ()), call.arguments, model
        )
        result["variables"] = call.variables()
        return result

    def compare(self, result):
        """Build again, for real, on each device that was asked for, and compare parameter by
        parameter with what was counted first."""
        for name, device in devices_to_compare(self.job.get("device", "meta")).items():
            if result["devices"].get(name, {}).get("status") == "measured":
                continue  # it was counted there in the first place
            why = device.why_absent(self.torch)
            if why is None:
                result["devices"][device.LABEL] = self.on_device(device, result)
            else:
                absent = {"status": "skipped", "reason": why, "is_absent": True}
                result["devices"][name] = absent

    def on_device(self, device, result):
        torch = self.torch
        free, need = device.free_bytes(torch), result["counts"]["bytes"]
        if free is not None and need > free * MOST_OF_MEMORY:
            reason = "needs {:,} bytes, {:,} are free".format(need, free)
            return {"status": "skipped", "reason": reason}
        before = device.allocated_bytes(torch)
        seed(torch, 0)
        try:
            model, _ = self.build(torch.device(device.LABEL))
            count = Count(torch, device.moved(torch, model), {"parameters": {}, "modules": {}})
            total, signature = count.totals()["total"], count.signature()
        except Exception as error:
            return {"status": "failed", "reason": describe(error)}
        answer = {"status": "measured", "total": total}
        if before is not None:
            answer["bytes"] = device.allocated_bytes(torch) - before
        answer["differences"] = differences(result["signature"](), signature)
        return answer


def torch_hooks(torch, sources):
    """Remember the line that made each parameter and each module, with torch's own hooks
    (https://github.com/pytorch/pytorch/pull/86148)."""
    from torch.nn.modules import module as registry

    def parameter_made(module, name, parameter):
        if parameter is not None and id(parameter) not in sources["parameters"]:
            sources["objects"].append(parameter)
            sources["parameters"][id(parameter)] = line_of(sys._getframe(1))

    def module_made(module, name, child):
        if child is not None and id(child) not in sources["modules"]:
            record_callers(sys._getframe(1))
            sources["objects"].append(child)
            sources["modules"][id(child)] = line_of(sys._getframe(1))

    return [
        registry.register_module_parameter_registration_hook(parameter_made),
        registry.register_module_module_registration_hook(module_made),
    ]


def only_module(torch, value, text):
    """The model that a call returned; factories often return it together with other things."""
    if isinstance(value, torch.nn.Module):
        return value
    items = list(value.values()) if isinstance(value, dict) else value
    if isinstance(items, (list, tuple)):
        modules = [v for v in items if isinstance(v, torch.nn.Module)]
        if len(modules) == 1:
            return modules[0]
    reason = "{} returned {}, not a model".format(text, type(value).__name__)
    raise Failure("NPL004", "not_a_model", reason)


def cause_of(error):
    """The cause of a failure, from the exception that a call raised."""
    if is_refusal(error):
        return "refused"
    if isinstance(error, NotTracked):
        return "not_tracked"
    if isinstance(error, TypeError) and MISSING_ARGUMENTS.search(describe(error)):
        return "arguments_missing"
    return "raised"


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
    drawn = bytes(torch.default_generator.get_state().tolist())
    return random.getstate(), numpy, drawn


def drew(before, after):
    """Whether a build may have taken a width from a random number: one of Python's or numpy's, or
    one of torch's, if it read any value at all."""
    return before[:2] != after[:2] or (before[2] != after[2] and STATE.read_values)


def differences(first, second):
    """Texts for the parameters whose name, shape or dtype is not the same in both builds."""
    one, two = {p[0]: p[1:] for p in first}, {p[0]: p[1:] for p in second}
    texts = []
    for name in list(one) + [n for n in two if n not in one]:
        if one.get(name) != two.get(name):
            here, there = (
                "{} {}".format(list(p[name][0]), p[name][1]) if name in p else "absent"
                for p in (one, two)
            )
            texts.append("{}: {}, then {}".format(name, here, there))
    return texts[:20]
