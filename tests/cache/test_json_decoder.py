"""Two threads that make a decoder of one class at the same time."""

import subprocess
import sys

SCRIPT = """\
import faulthandler
import sys
import threading
from dataclasses import dataclass

from nparam_lint.cache.file_facts import json_decoder

faulthandler.enable()


def read():
    found = json_decoder(Outer).decode(b'{"inner": {"number": 1}}')
    assert found == Outer(Inner(1))
    sys.stdout.write("read\\n")


def number_type():
    # What is known of Outer is half written now. The second thread has to wait for the first.
    second.start()
    second.join(0.2)
    return int


@dataclass
class Inner:
    number: "number_type()"


@dataclass
class Outer:
    inner: Inner


second = threading.Thread(target=read)
read()
second.join()
"""


def test_a_second_thread_waits_until_what_is_known_of_the_class_is_complete():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, "read\nread\n"), done.stderr
