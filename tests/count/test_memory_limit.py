"""What a process is said to take is what the system says, however large its pages are."""

import subprocess
import sys

import pytest
from worker_runs import LINUX

from nparam_lint.ground import WORKER

SCRIPT = f"""\
import importlib.util, re
spec = importlib.util.spec_from_file_location("launch", {WORKER!r})
launch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(launch)
launch.load()
from importlib import import_module
children = import_module(launch.NAME + ".worker.processes.children")
ballast = bytearray(b"x") * (200 << 20)
with open("/proc/self/status") as file:
    said = int(re.search(r"VmRSS:\\s+(\\d+) kB", file.read())[1]) * 1024
print(said, children.resident())
"""


@pytest.mark.skipif(not LINUX, reason="only Linux tells the memory of a process in /proc")
def test_resident_memory_is_counted_in_pages_of_this_machine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, encoding="utf-8", check=True
    )
    said, counted = map(int, done.stdout.split())
    assert said > 200 << 20
    assert abs(counted - said) < 16 << 20  # the kernel updates the two at different times
