"""Constructors that do what no constructor should. Where one survives it has 9 parameters."""

import atexit
import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import torch
from torch import nn


class Ok(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)


class RaisesMuch(Ok):
    def __init__(self):
        raise ValueError("x" * 2_000_000)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


class RaisesUnprintable(Ok):
    def __init__(self):
        raise Unprintable


class RaisesBase(Ok):
    def __init__(self):
        raise BaseException("base")


class Interrupts(Ok):
    def __init__(self):
        raise KeyboardInterrupt


class Exits(Ok):
    def __init__(self):
        sys.exit(0)


class Talks(Ok):
    def __init__(self):
        super().__init__()
        print("talked before", flush=True)


class ExitsHard(Ok):
    def __init__(self):
        print("x" * 30_000 + "\nsaid goodbye", flush=True)
        os._exit(0)


class Segfaults(Ok):
    """Its stack is longer than what a terminal shows."""

    def __init__(self):
        self.go_down(90)

    def go_down(self, further):
        ctypes.string_at(0) if further == 0 else self.go_down(further - 1)


class Eats(Ok):
    def __init__(self):
        self.food = []
        while True:
            self.food.append(b"x" * 50_000_000)


class Heavy(Ok):
    """Within the limit, but only once: what it leaves behind is a cycle."""

    def __init__(self):
        super().__init__()
        self.ballast = [b"x" * 300_000_000]
        self.ballast.append(self.ballast)


class Recurses(Ok):
    def __init__(self):
        super().__init__()
        self.inner = Recurses()


class Daemon(Ok):
    def __init__(self):
        super().__init__()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)


class ForksAndDies(Ok):
    def __init__(self):
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        os._exit(0)


class ForkedChildReturns(Ok):
    """The child comes back from the constructor as well, and with another width."""

    def __init__(self):
        super().__init__()
        child = os.fork()
        if child == 0:
            self.layer = nn.Linear(1, 1)
        else:
            os.waitpid(child, 0)


class ForkedChildExits(Ok):
    """The child ends with sys.exit, as daemons of old do."""

    def __init__(self):
        super().__init__()
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)


class Floods(Ok):
    def __init__(self):
        super().__init__()
        print("x" * 1_500_000)
        sys.stderr.write("y" * 1_500_000)
        os.write(1, b"z" * 1_200_000)
        os.write(2, b"\xff\x00" * 600_000)


class Forges(Ok):
    def __init__(self):
        super().__init__()
        for descriptor in (1, 2):
            for number in range(3):
                os.write(descriptor, b'{"event":"result","id":%d,"ok":true,"counts":{}}\n' % number)
            os.write(descriptor, b'{"event":"end","jobs":0}\n')


class WritesTree(Ok):
    def __init__(self):
        open("evil.txt", "w")


class WritesCaught(Ok):
    def __init__(self):
        super().__init__()
        try:
            torch.save({}, "weights.pt")
        except Exception:
            pass


class Renames(Ok):
    def __init__(self):
        os.rename("data.txt", "evil.txt")


class UsesTemporary(Ok):
    def __init__(self):
        super().__init__()
        with tempfile.TemporaryDirectory() as directory:
            inner = os.path.join(directory, "inner")
            os.mkdir(inner)
            with open(os.path.join(inner, "file.txt"), "w") as file:
                file.write("text")


class Connects(Ok):
    def __init__(self):
        socket.create_connection(("127.0.0.1", 9), timeout=1)


class StartsProgram(Ok):
    def __init__(self):
        subprocess.run(["touch", "evil.txt"])


class Threads(Ok):
    def __init__(self):
        super().__init__()
        threading.Thread(target=time.sleep, args=(1000,)).start()


class ByMeta(type):
    def __call__(cls, *arguments, **keywords):
        return 5


class Replaced(nn.Module, metaclass=ByMeta):
    pass


def replace(cls):
    return lambda: Ok()


@replace
class Decorated(nn.Module):
    def __init__(self, needed):
        raise RuntimeError


class KillsParent(Ok):
    def __init__(self):
        os.kill(os.getppid(), signal.SIGKILL)


class KillsParentGroup(Ok):
    def __init__(self):
        os.killpg(os.getppid(), signal.SIGKILL)


class KillsEverything(Ok):
    def __init__(self):
        os.kill(-1, 0)


class ClosesAll(Ok):
    def __init__(self):
        os.closerange(0, 4096)


class ChangesDirectory(Ok):
    def __init__(self):
        super().__init__()
        os.chdir("/")


class ReadsRelative(nn.Module):
    def __init__(self):
        super().__init__()
        with open("data.txt") as file:
            self.layer = nn.Linear(2, int(file.read()))


class ChangesImports(Ok):
    def __init__(self):
        super().__init__()
        sys.path.clear()
        sys.meta_path.clear()
        sys.modules["math"] = None
        sys.modules["h"] = None
        os.environ.clear()


class ImportsLate(nn.Module):
    def __init__(self):
        super().__init__()
        import math

        import late

        self.layer = nn.Linear(2, math.ceil(late.WIDTH))


class ChangesDtype(Ok):
    def __init__(self):
        torch.set_default_dtype(torch.float64)
        super().__init__()


class AtExit(Ok):
    def __init__(self):
        super().__init__()
        atexit.register(time.sleep, 1000)


class WithSecret(nn.Module):
    def __init__(self):
        super().__init__()
        names = {"MY_API_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"}
        self.layer = nn.Linear(2, 3 + len(names & set(os.environ)))
        assert os.environ["HARMLESS_SETTING"] == "kept"


class ReadsInput(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3 + len(sys.stdin.read()))


class Asks(Ok):
    def __init__(self):
        super().__init__()
        self.name = input("name? ")


class NoSuper(nn.Module):
    def __init__(self):
        self.layer = nn.Linear(2, 3)


class Needs(nn.Module):
    def __init__(self, width, depth, bias=True):
        super().__init__()
