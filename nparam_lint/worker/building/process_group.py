"""A process group of the one process that a script runs in, as torchrun would start it: nothing is
sent, so that no port is opened, and no GPU is asked for."""

import functools


def one_process(torch):
    """(owner, name, value) of what makes a process group, and sends objects."""
    distributed = torch.distributed
    if not distributed.is_available():
        return []
    try:
        from torch.testing._internal.distributed.fake_pg import FakeStore
    except ImportError:
        return []

    begin, divide = distributed.init_process_group, distributed.new_group

    @functools.wraps(begin)
    def init_process_group(*args, **kwargs):
        if not distributed.is_initialized():
            begin("fake", rank=0, world_size=1, store=FakeStore())

    @functools.wraps(divide)
    def new_group(*args, **kwargs):
        return distributed.group.WORLD

    def send_objects(*args, **kwargs):
        pass  # they are where they are sent to

    return [
        (distributed, "init_process_group", init_process_group),
        (distributed, "new_group", new_group),
        (distributed, "broadcast_object_list", send_objects),
    ]
