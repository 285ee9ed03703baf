"""The private parts of torch that the worker uses, each with the reason; no other file touches any.

Where torch changes one of them, this is the file to change.
"""

import functools


def tensor_makers():
    """The functions that make a tensor on the device that is asked for (`torch.empty`, …). torch
    keeps the one list of them, for its own `with torch.device(…)`:
    https://github.com/pytorch/pytorch/pull/91525
    """
    from torch.utils._device import _device_constructors

    return _device_constructors()


def check_fan(torch, tensor):
    """Raise ValueError where Xavier's and Kaiming's initialisers would: for a tensor of fewer than
    two dimensions. They are not run (patching `torch.nn.init` is what torch advises to those who
    skip it, https://github.com/pytorch/pytorch/issues/29523), but a wrong model is to stay wrong.
    """
    torch.nn.init._calculate_fan_in_and_fan_out(tensor)


def wrap_file_writer(torch, check):
    """Call `check(target)` before torch.save writes a file. It opens the file in C++
    (https://github.com/pytorch/pytorch/blob/v2.1.0/caffe2/serialize/inline_container.cc), which
    raises no audit event that a hook of Python would see.
    """
    writer = torch._C.PyTorchFileWriter

    def checked_writer(target, *args, **kwargs):
        check(target)
        return writer(target, *args, **kwargs)

    torch._C.PyTorchFileWriter = checked_writer


def wrap_file_readers(torch, note):
    """Call `note(file, is_shared)` before torch opens a file in C++, as above: to map it, or to
    read an archive. `is_shared`: what is written to the tensor would go to the file.
    (`torch.jit.load` asks first whether the file is there, which is seen.)"""
    map_tensor, map_storage = torch.from_file, torch.UntypedStorage.from_file
    reader = torch._C.PyTorchFileReader

    @functools.wraps(map_tensor)
    def from_file(filename, shared=None, *args, **kwargs):
        note(filename, shared)
        return map_tensor(filename, shared, *args, **kwargs)

    def storage_from_file(filename, shared=False, *args, **kwargs):
        note(filename, shared)
        return map_storage(filename, shared, *args, **kwargs)

    class Reader(reader):
        def __init__(self, source, *args, **kwargs):
            note(source, False)
            super().__init__(source, *args, **kwargs)

    torch.from_file = from_file
    torch.UntypedStorage.from_file = staticmethod(storage_from_file)
    torch._C.PyTorchFileReader = Reader  # a class: torch.package asks what is one


# A module's own parts are read from the dictionaries in which torch registers them. The methods
# (`named_parameters(recurse=False)`, `named_children()`) leave out what appears twice, and models
# override them: https://github.com/pytorch/pytorch/pull/98880 advises the same. In most modules
# two of the three are empty.


def is_initialised(module):
    """Whether the constructor of a module called `super().__init__()`."""
    return "_parameters" in vars(module)


def own_parameters(module):
    """[(name, parameter)] of those that a module holds itself."""
    found = module._parameters
    return [pair for pair in found.items() if pair[1] is not None] if found else ()


def own_buffers(module):
    """[(name, buffer)] of those that a module holds itself."""
    found = module._buffers
    return [pair for pair in found.items() if pair[1] is not None] if found else ()


def own_children(module):
    """[(name, module)] of those directly below a module, the same one as often as it is there."""
    found = module._modules
    return [pair for pair in found.items() if pair[1] is not None] if found else ()


def storage_key(tensor):
    """What is the same for two tensors that share their memory. On meta every `data_ptr()` is 0;
    torch's own answer is this too (`torch.storage.UntypedStorage.__deepcopy__`)."""
    return tensor.untyped_storage()._cdata
