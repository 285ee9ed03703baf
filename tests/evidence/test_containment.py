"""Which models are parts of others, as the source says."""

from discover_project import discovered

from nparam_lint.evidence.containment import find_containment

NETS = '''
    import torch.nn as nn
    from torch.nn import Module

    from nets import layers as parts
    from nets.layers import Norm

    class Block(Module):
        """Used in GPT, and like Unused."""
        def __init__(self, width: int, norm: "Unused" = None):
            # Unused() in a comment
            self.norm = Norm(width) if norm is None else norm
            self.text = "Unused()"
        def forward(self, x: Unused) -> "Unused":
            assert not isinstance(x, Unused)
            return parts.Attention(3)(x)

    class Unused(Module):
        pass

    class GPT(Module):
        def __init__(
            self,
            layers=2,
        ):
            self.h = nn.ModuleList(Block(4) for _ in range(layers))

    class Large(GPT):
        def __init__(self):
            super().__init__(4)

    def gpt(layers):
        model = GPT(layers)
        return model

    class Pair(Module):
        def __init__(self):
            self.left, self.kind = gpt(3), Leaf
            self.norm = _norm()

    def _norm():
        return [Attention2(), _norm()]

    class Attention2(Module):
        def __init__(self):
            self.parts = _norm()

    class Leaf(Module):
        def again(self):
            return Stem(self)

    class Stem(Module):
        def __init__(self, leaf):
            self.leaf = leaf or Leaf()

    trained = Unused()
'''
LAYERS = """
    from torch import nn

    class Norm(nn.Module):
        pass

    class Attention(nn.Module):
        pass
"""


def test_a_model_contains_what_its_body_names(tmp_path):
    sources = {"nets/__init__.py": "", "nets/gpt.py": NETS, "nets/layers.py": LAYERS}
    found = find_containment(discovered(tmp_path, sources))
    named = {
        part.partition("::")[2]: {user.partition("::")[2] for user in users}
        for part, users in found.users.items()
    }
    assert named == {
        "Norm": {"Block", "GPT", "Large", "Pair"},
        "Attention": {"Block", "GPT", "Large", "Pair"},
        "Block": {"GPT", "Large", "Pair"},
        "GPT": {"Pair"},  # by way of the function that returns it
        "gpt": {"Pair"},
        "Attention2": {"Pair"},  # by way of a function that is no model
        "Leaf": {"Pair"},
        "Stem": {"Pair", "Leaf"},  # of two that name each other, the first contains the second
    }
    assert found.returns == {"nets/gpt.py::gpt": "nets/gpt.py::GPT"}


CONFIGURED = """
    from torch.nn import Module

    class Layer(Module):
        class Config:
            width: int = 3

    class Base(Module):
        class Config:
            layers: list[Layer.Config]

    class Net(Base):
        class Config(Base.Config):
            last: Layer.Config = None

    class Fused(Layer):
        class Config(Layer.Config):
            pass

    class Quantized(Module):
        class Config(Fused.Config):
            pass
"""


def test_the_config_of_a_part_is_a_field_of_the_config_of_the_whole(tmp_path):
    found = find_containment(discovered(tmp_path, {"net.py": CONFIGURED}))
    assert {part: set(users) for part, users in found.users.items()} == {
        f"net.py::{part}": {"net.py::Base", "net.py::Net"}
        for part in ("Layer", "Fused", "Quantized")  # the config of each fits into that field
    }


CHOSEN = """
    from torch.nn import Module

    class A(Module):
        pass

    class B(Module):
        pass

    def build(name):
        if name == "a":
            model = A()
        else:
            model = B()
        return model
"""


def test_a_factory_contains_none_of_those_that_it_chooses_from(tmp_path):
    assert not find_containment(discovered(tmp_path, {"net.py": CHOSEN})).users
    user = (
        "\n    class C(Module):\n        def __init__(self):\n            self.part = build('b')\n"
    )
    found = find_containment(discovered(tmp_path, {"net.py": CHOSEN + user}))
    assert {*found.users} == {"net.py::A", "net.py::B", "net.py::build"}


def test_a_class_that_was_not_read_contains_nothing(tmp_path):
    """As where a check of one folder finds a factory that returns a class of another."""
    found = discovered(
        tmp_path,
        {
            "nets/layers.py": """
                from torch import nn
                class Layer(nn.Module): ...
            """,
            "nets/models.py": """
                from nets.layers import Layer
                def layer() -> Layer:
                    return Layer()
                def net() -> Layer:
                    return Layer(layer())
            """,
        },
        files=["nets/models.py"],
    )
    contained = find_containment(found)
    assert contained.users == {"nets/models.py::layer": ("nets/models.py::net",)}
