"""What a process is said to take is what the system says, however large its pages are."""

import re
from pathlib import Path

import pytest
from worker_runs import LINUX

from nparam_lint.worker.processes.children import resident


@pytest.mark.skipif(not LINUX, reason="only Linux tells the memory of a process in /proc")
def test_resident_memory_is_counted_in_pages_of_this_machine() -> None:
    text = Path("/proc/self/status").read_text()
    told = re.search(r"VmRSS:\s+(\d+) kB", text)
    assert told
    assert abs(resident() - int(told[1]) * 1024) < 16 << 20  # the kernel updates them in turn
