"""What every room stands on, and what needs none of them. What the worker reads, too, has the
standard library alone, and Python 3.9 syntax: this, `metrics`, `facts`, `orders`, `nearest`,
`patterns` and `script_words`."""

import os

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # where the rooms are
# In the directory of a worker that stays: what it listens to, and why it ended.
SOCKET, LOG = "socket", "log"
# Of the worker's answers: their version, and what stands between a frame and what it carries.
PROTOCOL, TAB = 12, b"\t"  # JSON never has a tab as it is
WORKER = os.path.join(PACKAGE, "worker", "launch.py")  # what the project's interpreter runs
