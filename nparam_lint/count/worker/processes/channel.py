"""What a process tells the one above it."""

from __future__ import annotations

import json
import os

from ..state import STATE

TAB = b"\t"  # between the two parts of a frame; JSON never has it as it is


def result_body(result, inputs):
    """What follows the frame of a result; `inputs`: None where nobody knows them."""
    return TAB.join(json.dumps(part).encode() for part in (result, inputs))


class Channel:
    """Frames to the process above; whole lines, so that frames of several children never mix."""

    def __init__(self, descriptor, nonce):
        self.descriptor, self.nonce, self.pid = descriptor, nonce, os.getpid()

    def send(self, body=None, **frame):
        """`body`: a result as JSON, in bytes."""
        if os.getpid() != self.pid:  # forked by a constructor, and come back from it
            os._exit(0)
        # The leading line break ends whatever a start-up file may have printed without one.
        data = "\n{} {}".format(self.nonce, json.dumps(frame)).encode()
        self.write(data + (b"\n" if body is None else TAB + body + b"\n"))

    def send_result(self, number, result, inputs=None, **frame):
        """The result of a job: what the processes above have to know of it, then all of it, and
        what it depends on (None: nobody knows)."""
        result = dict(result)
        for name in ("next_attempt", "not_tracked"):
            if result.pop(name, False):
                frame[name] = True
        frame.update(event="result", id=number, ok=result["ok"], code=result.get("code"))
        self.send(result_body(result, inputs), **frame)

    def send_record(self, **frame):
        """What this process has read since it last said so, unless that is nothing."""
        news = STATE.record.unreported()
        if news is None or any(news.values()):
            self.send(json.dumps(news).encode(), event="dependencies", **frame)

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.descriptor, view) :]
