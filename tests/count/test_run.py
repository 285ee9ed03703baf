"""The front end believes no worker: whatever it answers, each job is measured or says why not."""

import copy
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from case_books import Case, ProjectBook, cases_beside
from processes import marked, wait_until
from sample_files import write_files
from worker_runs import LINUX, MODES, PYTHON, make_orders, make_session

import nparam_lint
from nparam_lint.count import worker_process
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.count.run import PROTOCOL, Answers, read_answers, run_orders
from nparam_lint.count.worker_environment import Secrets, worker_environment
from nparam_lint.ground.orders import Order

on_posix = pytest.mark.skipif(os.name != "posix", reason="the fake interpreter is a script")
on_linux = pytest.mark.skipif(not LINUX, reason="looks for processes in /proc, which needs Linux")

PATIENCE = 0.7  # seconds, in place of START_LIMIT
STUCK = 20.0  # seconds after which a test says that the front end hangs

FAKE = """\
#!{python} -IS
import json, os, sys, time
nonce = ""
def read():
    global nonce
    sys.stdin.buffer.readline()  # variables
    nonce = json.loads(sys.stdin.buffer.readline())["settings"]["nonce"]
def say(data):
    os.write(1, data if isinstance(data, bytes) else data.encode())
def frame(**fields):
    head = {{k: fields[k] for k in ("event", "id", "ok") if k in fields}}
    whole = json.dumps(fields)
    body = json.dumps(head) + "\\t" + whole if fields.get("event") == "result" else whole
    say("\\n" + nonce + " " + body + "\\n")
def ready(**fields):
    read()
    frame(**dict(dict(event="ready", protocol={protocol}, torch="9.9", version="3.99"), **fields))
results = {results}
{body}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nets = "from torch import nn\n\ndef leaf():\n    return nn.Linear(9, 4)\n"
    nets += "def root():\n    return nn.Linear(7, 1)\n"
    return write_files(tmp_path_factory.mktemp("nets"), {"nets.py": nets})


@pytest.fixture(scope="module")
def jobs(project: Path) -> list[Order]:
    return make_orders(project, ["nets.py::leaf", "nets.py::root"])


Frame = dict[str, Any]


@pytest.fixture(scope="module")
def results(project: Path, jobs: list[Order]) -> list[Frame]:
    """The two results of a real worker: each frame, with the fields of its body."""
    recorded: list[tuple[Frame, bytes]] = []

    def read(frames: Any, *more: Any) -> Any:
        while not recorded or recorded[-1][0]["event"] != "end":
            recorded.append(next(frames))
        return read_answers(recorded, *more)

    with mock.patch("nparam_lint.count.run.read_answers", read):
        run_orders(make_session(project), set(), jobs)
    found = {
        frame["id"]: {**frame, **json.loads(body.partition(b"\t")[0])}
        for frame, body in recorded
        if frame["event"] == "result"
    }
    assert [found[i]["modules"][0]["total"] for i in range(2)] == [40, 8]
    return [found[0], found[1]]


Ask = Callable[..., Answers]


@pytest.fixture
def ask(
    tmp_path: Path,
    jobs: list[Order],
    results: list[Frame],
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    """Run the jobs with a fake interpreter that does `body`; fails when that takes too long."""
    monkeypatch.setattr(worker_process, "START_LIMIT", PATIENCE)

    def run(body: str, given: list[Order] = jobs) -> Answers:
        script = tmp_path / "python"
        script.write_text(
            FAKE.format(python=PYTHON, protocol=PROTOCOL, results=repr(results), body=body)
        )
        script.chmod(0o755)
        done: list[Answers | BaseException] = []

        def work() -> None:
            try:
                session = make_session(tmp_path, python=str(script), timeout=0.1)
                done.append(run_orders(session, set(), given))
            except BaseException as error:
                done.append(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(STUCK)
        assert done, "the front end hangs"
        if isinstance(done[0], BaseException):
            raise done[0]
        return done[0]

    return run


def not_measured(answers: Answers, number: int = 0) -> NotMeasured:
    result = answers.measurements[number]
    assert isinstance(result, NotMeasured), result
    return result


@on_posix
def test_the_fake_can_answer_right(ask: Ask) -> None:
    answers = ask("ready()\nfor r in results: frame(**r)\nframe(event='end', jobs=2)")
    counts = [m.counts.total for m in answers.measurements.values() if isinstance(m, Measured)]
    assert counts == [40, 8]
    assert (answers.torch, answers.python, answers.broken) == ("9.9", "3.99", None)


ENDED = "the worker ended before its work was done ({}"
BROKEN = {
    "nothing": ("", ENDED.format("exit status 0")),
    "exit status": ("read(); sys.exit(7)", ENDED.format("exit status 7")),
    "killed": ("read(); os.kill(os.getpid(), 9)", ENDED.format("exit status -9")),
    "garbage": (
        "read(); say(bytes(range(256)) * 500); say(b'\\n\\xff\\xfe\\n{}\\n[1]\\n')\n"
        "say(nonce + '\\n' + nonce + ' \\n' + nonce + ' [1, 2]\\n' + nonce + ' null\\n')\n"
        "say(json.dumps(dict(event='ready', protocol=3, torch='1', version='3')) + '\\n')\n"
        'say(nonce + \' {"event": "ready", "proto\')',
        ENDED.format(""),
    ),
    "other nonce": ("read(); nonce = '0' * 32; frame(event='end', jobs=2)", ENDED.format("")),
    "mute": ("read(); time.sleep(60)", "the worker did not respond for 0.7 s"),
    "chatty": (
        "read()\nfor _ in range(1200): say('garbage\\n'); time.sleep(0.01)",
        "the worker did not respond for 0.7 s",
    ),
}


@on_posix
@pytest.mark.parametrize("case", BROKEN)
def test_a_worker_that_cannot_start(ask: Ask, case: str) -> None:
    body, reason = BROKEN[case]
    answers = ask(body)
    assert (answers.torch, answers.broken and answers.broken[: len(reason)]) == (None, reason)
    for number in range(2):
        failure = not_measured(answers, number)
        assert (failure.code, failure.reason[: len(reason)]) == ("NPL005", reason)


# --- frames, as they come from a worker --------------------------------------------------------

READY = {"event": "ready", "protocol": PROTOCOL, "torch": "9.9", "version": "3.99"}
END = {"event": "end", "jobs": 1}


def read(jobs: Sequence[Order], *frames: Frame) -> tuple[Answers, str | None]:
    """What is made of these frames, and why a job without an answer has none."""
    answers = Answers()
    bodies = ((frame, json.dumps(frame).encode()) for frame in copy.deepcopy(frames))
    end = read_answers(bodies, jobs, answers, Secrets({}), None)
    return answers, end and end[1]


@pytest.mark.parametrize(
    ("frames", "reason"),
    [
        ([READY | {"protocol": 99}], f"the worker uses protocol 99, not {PROTOCOL}"),
        ([READY | {"protocol": None}], f"the worker uses protocol None, not {PROTOCOL}"),
        ([READY | {"torch": None}, END], "the worker's first answer cannot be read"),
        ([{**READY, "version": 3}, END], "the worker's first answer cannot be read"),
        ([{"event": "no torch", "reason": "ModuleNotFoundError"}], "ModuleNotFoundError"),
        ([END], "the worker ended without a result for it"),
        ([{"event": None}, {}, {"event": [1]}], None),
    ],
)
def test_a_first_frame_that_says_nothing(
    jobs: list[Order], frames: list[Frame], reason: str | None
) -> None:
    answers, why = read(jobs, *frames)
    assert (answers.measurements, answers.torch, why) == ({}, None, reason)


def test_results_that_come_at_the_wrong_time_count_nothing(
    jobs: list[Order], results: list[Frame]
) -> None:
    answers, why = read(jobs, READY, results[0])  # without an end
    assert (answers.measurements, why) == ({}, None)
    assert read(jobs, results[0], READY, END)[0].measurements == {}
    answers, why = read(jobs, READY, results[0] | {"id": 77}, results[0], END, results[1])
    assert list(answers.measurements) == [0]
    assert why == "the worker ended without a result for it"


FAILED = {"event": "result", "id": 0, "ok": False, "code": "NPL004", "reason": "x"}


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "ruined"))
def test_an_answer_that_cannot_be_read(
    jobs: list[Order],
    results: list[Frame],
    book: ProjectBook,
    case: Case,
    request: pytest.FixtureRequest,
) -> None:
    space = {"r": copy.deepcopy(results[0]), "failed": FAILED}
    exec(case.asked, space)
    answers, _ = read(jobs, READY, space["r"], END)
    said = "no answer"
    if answers.measurements:
        failure = not_measured(answers)
        said = f"{failure.code} {failure.cause}: {failure.reason}"
    book.check(case.number, said, update=request.config.getoption("update"))


# --- what a worker does beside -----------------------------------------------------------------


@on_posix
def test_a_flood_is_drained(ask: Ask) -> None:
    answers = ask(
        "ready(); os.write(2, b'y' * 1_000_000 + b'\\nlast words')\n"
        "say(b'x' * 1_000_000 + b'\\n')\n"
        "frame(**results[0]); sys.exit(4)"
    )
    failure = not_measured(answers, 1)
    assert failure.output.endswith("last words")
    assert len(failure.output) <= 4096


@on_posix
def test_a_request_that_nobody_reads(ask: Ask, jobs: list[Order]) -> None:
    """Larger than the pipe: writing it must not wait for ever."""
    many = [replace(jobs[0], id=i, label="x" * 1000) for i in range(500)]
    assert "did not respond" in not_measured(ask("time.sleep(60)", many), 499).reason


@on_posix
def test_what_the_interpreter_leaves_is_ended(ask: Ask, tmp_path: Path) -> None:
    """Even a process that keeps the pipes open."""
    start = time.monotonic()
    ask("read()\nif os.fork() == 0: time.sleep(60)\nframe(event='no torch', reason='x', python='')")
    assert time.monotonic() - start < 10
    assert tmp_path.exists()


@pytest.mark.parametrize("kind", ["absent", "not executable", "a directory", "no program"])
def test_an_interpreter_that_cannot_be_started(
    tmp_path: Path, jobs: list[Order], kind: str
) -> None:
    python = tmp_path / "python"
    if kind == "a directory":
        python.mkdir()
    elif kind != "absent":
        python.write_bytes(b"\0\1\2")
        python.chmod(0o755 if kind == "no program" else 0o644)
    answers = run_orders(make_session(tmp_path, python=str(python)), set(), jobs)
    for number in range(2):
        assert not_measured(answers, number).reason.startswith(f"cannot start {python}: ")
    assert answers.broken == not_measured(answers).reason


def test_no_jobs_ask_for_the_interpreter_alone(tmp_path: Path) -> None:
    answers = run_orders(make_session(tmp_path), set(), [])
    assert answers.broken is None
    assert answers.torch
    assert answers.python == ".".join(map(str, sys.version_info[:3]))
    assert set(answers.devices) >= {"meta", "cpu"}


@pytest.mark.parametrize(("book", "case"), cases_beside(__file__, "secrets"))
def test_a_secret_is_withheld_and_never_shown(
    book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    variables, *texts = [case.asked] if case.asked else case.files["text"].decode().split("\n")
    names, _, value = variables.partition(" = ")
    environ = dict.fromkeys(names.split(), value or "x")
    mask = Secrets(environ).mask
    if texts:
        said = mask(texts[0]).replace("…", "█")
    else:
        seen = worker_environment(environ, "/temporary").visible
        (said,) = {"kept" if seen.get(name) == environ[name] else "withheld" for name in environ}
        assert said == "kept" or not seen.keys() & environ
    book.check(case.number, said, update=request.config.getoption("update"))
    if said == "withheld" and "ANY" in environ:
        for text in (value, repr(environ), json.dumps(environ), f"{value}/more"):
            shown = mask(f"cannot connect: {text}")
            assert "…" in shown
            assert value not in shown


@on_linux
def test_names_and_texts_that_are_not_utf_8(tmp_path: Path) -> None:
    """Bytes of a file's name, and halves of surrogate pairs, are shown as Python escapes them."""
    doc = "" if sys.version_info >= (3, 13) else r"'Doc \ud800'"  # which no longer compiles
    (tmp_path / "h\udcff.py").write_text(
        "import torch.nn as nn\n"
        "def said():\n    raise ValueError('bad \\ud800 here')\n"
        f"def named():\n    {doc}\n    m = nn.Sequential()\n"
        "    m.add_module('\\udc80', nn.Linear(2, 2))\n    return m\n"
    )
    jobs = make_orders(tmp_path, [f"h\udcff.py::{name}" for name in ("said", "named")])
    found = run_orders(make_session(tmp_path), set(), jobs).measurements
    said, named = (found[job.id] for job in jobs)
    assert isinstance(said, NotMeasured)
    assert said.reason == r"said() raised ValueError: bad \ud800 here"
    assert said.source == r"h\udcff.py:3"
    assert isinstance(named, Measured)
    assert [row.path for row in named.modules] == ["", r"\udc80"]
    assert named.definitions == ("h\udcff.py:4",)  # by which budgets are found


def test_no_secret_reaches_a_report(tmp_path: Path) -> None:
    """Not even one that a file of the project holds, too."""
    (tmp_path / ".env").write_text("postgres://me:s3cr3tpw@db.example/x")
    (tmp_path / "h.py").write_text(
        "import os, sys\ndef said():\n    raise ValueError(open('.env').read())\n"
        "def printed():\n    print(open('.env').read(), file=sys.stderr, flush=True)\n"
        "    os._exit(3)\n"
        "def asked():\n    return os.environ['DATABASE_URL']\n"
        "from torch import nn\nclass Part(nn.Linear):\n"
        "    def __init__(self, url): super().__init__(2, 2)\n"
        "def held():\n    return nn.Sequential(Part(open('.env').read()))\n"
    )
    environ = {**os.environ, "DATABASE_URL": "postgres://me:s3cr3tpw@db.example/x"}
    session = make_session(tmp_path, environ)
    jobs = make_orders(tmp_path, [f"h.py::{name}" for name in ("said", "printed", "asked", "held")])
    found = run_orders(session, set(), jobs).measurements
    said, printed, asked, held = (found[job.id] for job in jobs)
    assert isinstance(held, Measured)
    assert [row.call for row in held.inside] == ["Part(url='…')"]
    assert isinstance(said, NotMeasured)
    assert said.reason == "said() raised ValueError: …"
    assert isinstance(printed, NotMeasured)
    assert printed.output == "…"
    assert isinstance(asked, NotMeasured)
    assert asked.reason == "asked() raised KeyError: 'DATABASE_URL'"
    assert (
        asked.hint
        == "DATABASE_URL looks like a secret, which builds do not get; make the model build "
        "without it"
    )


def test_the_environment_is_offline_and_elsewhere() -> None:
    made = worker_environment({"HF_HUB_OFFLINE": "0", "TMPDIR": "/home"}, "/temporary").process
    assert made["HF_HUB_OFFLINE"] == made["TRANSFORMERS_OFFLINE"] == "1"
    assert made["MPI4PY_RC_INITIALIZE"] == "no"
    assert made["TMPDIR"] == made["TEMP"] == made["TMP"] == "/temporary"
    assert made["TORCHINDUCTOR_CACHE_DIR"].startswith("/temporary")


# --- the whole front end in a process of its own ------------------------------------------------

PACKAGE = str(Path(nparam_lint.__file__).parent.parent)
FRONT = "import sys; from nparam_lint.cli.main import main; code = main(sys.argv[1:])"


def front_environment(**more: str) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": PACKAGE, "PYTHONDONTWRITEBYTECODE": "1"} | more


BUSY = """\
import ctypes, os, time
from torch import nn


class Busy(nn.Module):
    def __init__(self):
        super().__init__()
        if {daemon}:
            if os.fork() == 0:
                os.setsid()
                ctypes.CDLL(None).prctl(1, 0, 0, 0, 0)
                ctypes.CDLL(None).prctl(15, b"nparam-daemon", 0, 0, 0)
                time.sleep(120)
        ctypes.CDLL(None).prctl(15, b"nparam-busy", 0, 0, 0)
        while True:
            time.sleep(0.1)
"""


@on_linux
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("number", "daemon"),
    [
        ("SIGKILL", True),
        pytest.param("SIGTERM", False, marks=pytest.mark.thorough),
        pytest.param("SIGKILL", False, marks=pytest.mark.thorough),
        pytest.param("SIGINT", False, marks=pytest.mark.thorough),
    ],
)
def test_nothing_survives_the_front_end(
    tmp_path: Path, number: str, mode: dict[str, str], daemon: bool
) -> None:
    (tmp_path / "busy.py").write_text(BUSY.format(daemon=daemon))
    marker = uuid.uuid4().hex
    front = subprocess.Popen(
        [PYTHON, "-c", f"{FRONT}; sys.exit(code)", "check", str(tmp_path), "--python", PYTHON],
        env=front_environment(TORCH_SURVIVAL_MARKER=marker, **mode),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        names = {"nparam-busy", "nparam-daemon"} if daemon else {"nparam-busy"}
        wait_until(lambda: names <= set(marked(marker).values()))
        front.send_signal(signal.Signals[number])
        front.wait(10)
        wait_until(lambda: not marked(marker), 5)
    finally:
        for process in marked(marker):
            os.kill(process, signal.SIGKILL)
        front.wait(10)
    if number == "SIGINT":
        assert front.returncode == 130
