"""The front end believes no worker: whatever it answers, each job is measured or says why not."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from processes import marked, wait_until
from worker_runs import LINUX, MODES, PROJECTS, PYTHON, make_orders, make_session

import nparam_lint
from nparam_lint.count import worker_process
from nparam_lint.count.answers import Answers
from nparam_lint.count.measured import Measured, NotMeasured
from nparam_lint.count.run import PROTOCOL, run_orders
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
def jobs() -> list[Order]:
    return make_orders(PROJECTS / "counting", ["zoo.py::leaf", "zoo.py::Root"])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, jobs: list[Order]) -> list[dict[str, object]]:
    """The two result frames of a real worker, recorded on their way."""
    place = tmp_path_factory.mktemp("record")
    script = place / "python"
    script.write_text(f'#!/bin/sh\n"{PYTHON}" "$@" | tee "{place}/record"\n')
    script.chmod(0o755)
    run_orders(make_session(PROJECTS / "counting", python=str(script)), set(), jobs)
    record = place / "record"  # which tee writes after what it passes on
    wait_until(lambda: '"event": "end"' in record.read_text())
    lines = record.read_text().splitlines()
    parts = [line.partition(" ")[2].split("\t") for line in lines if line]
    frames = [
        {**json.loads(head), **json.loads(more[0] if more else "{}")} for head, *more in parts
    ]
    found = {frame["id"]: frame for frame in frames if frame["event"] == "result"}
    assert [found[i]["modules"][0]["total"] for i in range(2)] == [40, 8]
    return [found[0], found[1]]


Ask = Callable[..., Answers]


@pytest.fixture
def ask(
    tmp_path: Path,
    jobs: list[Order],
    results: list[dict[str, object]],
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


ENDED = "the worker ended before its work was done (exit status {})"
BROKEN = {
    "nothing": ("", ENDED.format(0)),
    "exit status": ("read(); sys.exit(7)", ENDED.format(7)),
    "garbage": (r"read(); say(bytes(range(256)) * 500); say(b'\n\xff\xfe\n{}\n[1]\n')", ENDED),
    "killed": ("read(); os.kill(os.getpid(), 9)", ENDED.format(-9)),
    "no nonce": (
        "read(); say(json.dumps(dict(event='ready', protocol=3, torch='1', version='3')) + '\\n')",
        ENDED.format(0),
    ),
    "other nonce": ("read(); nonce = '0' * 32; frame(event='end', jobs=2)", ENDED.format(0)),
    "nonce alone": ("read(); say(nonce + '\\n' + nonce + ' \\n')", ENDED.format(0)),
    "not an object": ("read(); say(nonce + ' [1, 2]\\n' + nonce + ' null\\n')", ENDED.format(0)),
    "cut off": ('read(); say(nonce + \' {"event": "ready", "proto\')', ENDED.format(0)),
    "protocol": ("ready(protocol=99)", f"the worker uses protocol 99, not {PROTOCOL}"),
    "no protocol": ("ready(protocol=None)", f"the worker uses protocol None, not {PROTOCOL}"),
    "no torch": (
        "read(); frame(event='no torch', reason='ModuleNotFoundError: torch', python='x')",
        "ModuleNotFoundError: torch",
    ),
    "deaf": ("time.sleep(60)", "the worker did not respond for 0.7 s"),
    "mute": ("read(); time.sleep(60)", "the worker did not respond for 0.7 s"),
    "chatty": (
        "read()\nfor _ in range(1200): say('garbage\\n'); time.sleep(0.01)",
        "the worker did not respond for 0.7 s",
    ),
    "end first": ("read(); frame(event='end', jobs=0)", ""),
    "result before ready": ("read(); frame(**results[0]); frame(event='end', jobs=1)", ""),
    "nameless": ("read(); frame(event=None); frame(); frame(event=[1])", ENDED.format(0)),
    "without torch's version": ("ready(torch=None); frame(event='end', jobs=0)", ""),
}


@pytest.mark.first_cases(5)
@on_posix
@pytest.mark.parametrize(
    "case",  # one that waits for nothing is like another
    [pytest.param(c, marks=pytest.mark.thorough) if c in ("mute", "deaf") else c for c in BROKEN],
)
def test_a_worker_that_cannot_start(ask: Ask, case: str) -> None:
    body, reason = BROKEN[case]
    answers = ask(body)
    assert answers.torch is None
    assert answers.broken
    assert answers.broken.startswith(reason.partition(" (exit status {}")[0])
    for number in range(2):
        failure = not_measured(answers, number)
        assert failure.code == "NPL005"
        assert failure.reason
        assert failure.reason.startswith(reason.partition(" (exit status {}")[0])


@on_posix
@pytest.mark.parametrize("missing", ["torch", "version"])
def test_a_ready_frame_with_a_hole(ask: Ask, missing: str) -> None:
    answers = ask(
        "read(); fields = dict(event='ready', torch='9', version='3')\n"
        f"fields['protocol'] = {PROTOCOL}; del fields[{missing!r}]\n"
        "frame(**fields)\nframe(event='end', jobs=0)"
    )
    assert not_measured(answers).code == "NPL005"


PARTIAL = {
    "no end": "ready(); frame(**results[0])",
    "no end, killed": "ready(); frame(**results[0]); os.kill(os.getpid(), 9)",
    "no end, cut off": 'ready(); frame(**results[0]); say(nonce + \' {"event": "en\')',
}


@on_posix
@pytest.mark.parametrize("case", PARTIAL)
def test_a_run_without_its_end(ask: Ask, case: str) -> None:
    """The protocol's contract: a job of a run without its end was not measured."""
    answers = ask(PARTIAL[case])
    for number in range(2):
        failure = not_measured(answers, number)
        assert failure.code == "NPL005"
        assert failure.reason.startswith("the worker ended before its work was done")


@on_posix
def test_a_job_without_an_answer(ask: Ask) -> None:
    answers = ask("ready(); frame(**results[0]); frame(event='end', jobs=1)")
    assert isinstance(answers.measurements[0], Measured)
    assert not_measured(answers, 1).reason == "the worker ended without a result for it"
    assert answers.broken is None


@on_posix
def test_answers_after_the_end_and_for_nobody(ask: Ask) -> None:
    answers = ask(
        "ready(); frame(**dict(results[0], id=77)); frame(**results[0])\n"
        "frame(event='end', jobs=1); frame(**results[1])"
    )
    assert list(answers.measurements) == [0, 1]
    assert not_measured(answers, 1)


RUINED = {
    "no id": "del r['id']",
    "list for an id": "r['id'] = [0]",
    "text for an id": "r['id'] = '0'",
    "true for an id": "r['id'] = False",
    "no ok": "del r['ok']",
    "fraction for a count": "r['modules'][0]['total'] = 40.0",
    "true for a count": "r['modules'][0]['total'] = True",
    "nothing for a count": "r['modules'][0]['total'] = None",
    "negative count": "r['modules'][0]['total'] = -40",
    "a count too few": "del r['modules'][0]['total']",
    "no rows": "del r['modules']",
    "text for rows": "r['modules'] = 'all'",
    "text for a row": "r['modules'] = ['all']",
    "text for a count": "r['modules'][0]['total'] = '40'",
    "rows that do not add up": "r['modules'][0]['total'] = 41",
    "frozen parameters that do not add up": "r['modules'][0]['frozen'] = 1",
    "rows without a root": "r['modules'] = []",
    "number for notes": "r['notes'] = 5",
    "list for devices": "r['devices'] = ['meta']",
    "text for a device": "r['devices'] = dict(meta='fine')",
    "list for names": "r['names'] = ['n']",
    "number for the call": "r['call'] = 5",
    "number for hidden": "r['hidden'] = 5",
    "failure without a reason": "r = dict(event='result', id=0, ok=False, code='NPL004')",
    "failure with a number": "r = dict(event='result', id=0, ok=False, code=5, reason=5)",
    "failure of no cause": "r = dict(event='result', id=0, ok=False, code='NPL004', reason='x')",
    "failure of another cause": (
        "r = dict(event='result', id=0, ok=False, code='NPL004', reason='x', cause='it failed')"
    ),
    "failure of no code": (
        "r = dict(event='result', id=0, ok=False, code='', reason='x', cause='died')"
    ),
    "failure of another code": (
        "r = dict(event='result', id=0, ok=False, code='NPL998', reason='', cause='died')"
    ),
}


@on_posix
@pytest.mark.parametrize("case", RUINED)
def test_an_answer_that_cannot_be_read(ask: Ask, case: str) -> None:
    told = "ready(); frame(**r); frame(event='end', jobs=1)"
    answers = ask(f"r = results[0]\n{RUINED[case]}\n{told}")
    failure = not_measured(answers)
    assert failure.code == "NPL005"
    assert "answer" in failure.reason or "without a result" in failure.reason
    assert isinstance(failure.reason, str)


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


@pytest.mark.thorough
def test_progress_is_told(jobs: list[Order]) -> None:
    told: list[tuple[int, int, str]] = []
    session = make_session(
        PROJECTS / "counting",
        jobs=1,
        progress=lambda done, every, label: told.append((done, every, label)),
    )
    run_orders(session, set(), jobs)
    built = [item for item in told if item[2].startswith("zoo.py::")]
    assert [done for done, _, _ in built] == sorted(done for done, _, _ in built)
    assert {(done, every) for done, every, _ in built} >= {(1, 2), (2, 2)}
    assert {label for _, _, label in built} == {"zoo.py::leaf", "zoo.py::Root"}


@pytest.mark.parametrize(
    "name",
    [
        "MY_API_TOKEN",
        "GITHUB_TOKEN",
        "hf_token",
        "DB_PASSWORD",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "WANDB_API_KEY",
        "SSH_AUTH_SOCK",
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "NPARAM_LINT_PYTHON",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTHONBREAKPOINT",
        "PYTHONINSPECT",
        "VIRTUAL_ENV",
        *("MY_CREDS", "DB_PASS", "DB_PWD", "SENTRY_DSN", "OPENAI_KEY_2", "MY_PAT", "SMTP_PASS"),
        *("CONNECTION_STRING", "SESSION_COOKIE", "BASIC_AUTH", "SIGNING_JWT", "SLACK_WEBHOOK"),
        *(
            "MYPASS",
            "dbpass2",
            "MYPWD",
            "SSHKEY",
            "APIKEY",
            "OAUTH",
            "PASSCODE",
            "MY_PIN",
            "PIN_CODE",
        ),
    ],
)
def test_the_environment_loses(name: str) -> None:
    assert name not in worker_environment({name: "x", "KEPT": "y"}, "/temporary").visible


@pytest.mark.parametrize(
    "name",
    [
        *("PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "LANG"),
        *(
            "PIN_MEMORY",
            "OPINION",
            "SPIN",
            "MONKEY_1",
            "PASSES",
            "KEYBOARD",
            "MONKEY",
            "COMPASS",
            "BYPASS",
            "PASSENGERS",
            "AUTHOR",
            "SACRED",
        ),
    ],
)
def test_the_environment_keeps(name: str) -> None:
    assert worker_environment({name: "x"}, "/temporary").visible[name] == "x"


SECRET_VALUES = [
    "postgres://me:s3cr3tpw@db.example/x",
    "mongodb+srv://u:p%40ssword@h",
    "redis://:abcdef@localhost",
    "https://0123456789abcdef0123456789abcdef@o1.example.io/1",
    "Server=x;User=me;Password=hunter2hunter;",
    '{"password": "hunter2hunter"}',
    "https://x.example/?sv=1&sig=abcdef12345",
    "AKIAIOSFODNN7EXAMPLE1234",
    "ghp_abcdefghijklmnopqrstuvwxyz",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abcdef",
    "a8Fj2kLmZ0qWeRtYuIoP1234",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY1EXAMPLEKEY",
    "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "-----BEGIN RSA PRIVATE KEY-----\nabc",
    "me:s3cr3tpw@db.example/x",
    "Basic bWU6cHc3ODk=",
    "https://hooks.slack.com/services/T0/B0/abcdefgh",
]


@pytest.mark.parametrize("value", SECRET_VALUES)
def test_a_value_that_is_a_secret_is_withheld_and_never_shown(value: str) -> None:
    environ = {"ANY": value}
    assert "ANY" not in worker_environment(environ, "/temporary").visible
    mask = Secrets(environ).mask
    for text in (value, repr({"ANY": value}), json.dumps({"ANY": value}), f"{value!s}/more"):
        shown = mask(f"cannot connect: {text}")
        assert "…" in shown
        assert value not in shown


@pytest.mark.parametrize(
    "value",
    [
        "GPU-8f6b2c1e-1111-2222-3333-444455556666",
        "/usr/lib/Python3X/site/abcABC12345",
        "RelWithDebInfo2024Build",
        "https://pypi.example/simple",
        "ssh://git@github.com/x",
        "http://proxy.example:8080",
        "max_split_size_mb:128,expandable_segments:True",
        "-DCMAKE_BUILD_TYPE=Release -O3",
        "unix:///var/run/docker.sock",
        "sqlite:///x.db",
        "postgresql://localhost/x",
        "x86_64-conda-linux-gnu",
    ],
)
def test_a_value_that_is_no_secret_is_kept(value: str) -> None:
    assert worker_environment({"ANY": value}, "/temporary").visible["ANY"] == value


@pytest.mark.parametrize(
    ("name", "value", "text", "shown"),
    [
        ("MY_CREDS", "me:hunter2hunter", "pw hunter2hunter!", "pw …!"),
        (
            "DATABASE_URL",
            "pg://me:s3cr3tpw@h/x",
            "user me, password s3cr3tpw",
            "user me, password …",
        ),
        ("DATABASE_URL", "pg://u:p%40ssword@h/x", "password p@ssword", "password …"),
        ("DB_PASSWORD", "abcd", "abcd, abcdef", "…, abcdef"),
        ("USE_TOKEN", "true", "x is true", "x is true"),
        ("MAX_TOKENS", "4096", "a size of 4096", "a size of 4096"),
        ("MY_TOKEN", "abcdefghijkl", "it is abcdefgh …", "it is … …"),
        ("ANY", "x", "at https://a:b@host/x", "at https://…@host/x"),
    ],
)
def test_what_is_withheld_is_not_shown(name: str, value: str, text: str, shown: str) -> None:
    assert Secrets({name: value}).mask(text) == shown


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


@pytest.mark.thorough
def test_the_front_end_imports_no_torch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n"
        '    """A net.\n\n    nparam: 12\n    """\n\n'
        "    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(3, 3)\n"
    )
    heavy = "{m.partition('.')[0] for m in sys.modules} & {'torch', 'numpy', 'functorch'}"
    done = subprocess.run(
        [
            PYTHON,
            "-c",
            f"{FRONT}; print(); print(code, {heavy})",
            *("check", str(tmp_path), "--format", "json", "--python", PYTHON, "--device", "meta"),
        ],
        env=front_environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    document, _, last = done.stdout.rstrip().rpartition("\n")
    assert last == "0 set()"
    (model,) = json.loads(document)["models"]
    assert model["counts"]["total"] == 12
    assert list(tmp_path.iterdir()) == [tmp_path / "net.py"]


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
    tmp_path: Path, number: str, mode: str, daemon: bool
) -> None:
    (tmp_path / "busy.py").write_text(BUSY.format(daemon=daemon))
    marker = uuid.uuid4().hex
    front = subprocess.Popen(
        [PYTHON, "-c", f"{FRONT}; sys.exit(code)", "check", str(tmp_path), "--python", PYTHON],
        env=front_environment(TORCH_SURVIVAL_MARKER=marker, NPARAM_LINT_FORK=mode),
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
