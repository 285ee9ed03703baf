"""Small models, each with one thing that is easily counted wrong."""

from textwrap import indent

from worker_runs import model_source

HEAD = """\
import copy, collections, random, warnings
import torch
import torch.nn.utils as utils
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

warnings.simplefilter("ignore")


class OwnParameters(nn.Module):
    # `parameters()` is overridden and leaves half of them out.

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def parameters(self, recurse=True):
        return self.head.parameters()


class Completed(nn.Module):
    # Does what torch cannot do on meta where `parametrize` takes NotImplementedError for another
    # answer.

    def forward(self, weight):
        return weight

    def right_inverse(self, weight):
        torch.unique(weight)
        self.register_buffer("base", torch.zeros(7))
        return weight


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.LazyConv2d(8, 3)
        self.norm = nn.LazyBatchNorm2d()
        self.head = nn.LazyLinear(5)

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).flatten(1))


class Config:
    def __init__(self, width=4, layers=2):
        self.width, self.layers = width, layers


class ChangesConfig(nn.Module):
    # Would be wider with each build if it were given the same config twice.

    def __init__(self, config: Config):
        super().__init__()
        config.width *= 2
        self.layer = nn.Linear(config.width, 1)
        float(torch.ones(1) * 2 + self.layer.bias.detach())  # fails on meta


SHARED = Config()
REGISTRY = collections.OrderedDict(a=3)


class ChangesShared(nn.Module):
    # The same with a config that all builds in one process share.

    def __init__(self, config=SHARED, registry=REGISTRY):
        super().__init__()
        config.width *= 2
        registry["new%d" % len(registry)] = 1
        self.layer = nn.Linear(config.width, len(registry))
        float(torch.ones(1) * 2 + self.layer.bias.detach().sum())  # fails on meta
"""
# What the constructor of a model does, or a function that returns one.
MODELS = {
    # --- sharing
    # The output layer takes the embedding's weight.
    "TiedOutput": """\
self.embedding = nn.Embedding(50, 8)
self.body = nn.Linear(8, 8)
self.head = nn.Linear(8, 50, bias=False)
self.head.weight = self.embedding.weight""",
    # The embedding takes the output layer's weight.
    "TiedInput": """\
self.embedding = nn.Embedding(50, 8)
self.body = nn.Linear(8, 8)
self.head = nn.Linear(8, 50, bias=False)
self.embedding.weight = self.head.weight""",
    # Two parameters, one storage.
    "TiedData": """\
self.embedding = nn.Embedding(50, 8)
self.head = nn.Linear(8, 50, bias=False)
self.head.weight.data = self.embedding.weight.data""",
    "View": """\
self.whole = nn.Parameter(torch.zeros(10, 4))
self.part = nn.Parameter(self.whole[:3])""",
    "TwoNames": """\
self.one = nn.Linear(3, 4)
self.two = self.one""",
    "TwoParents": """\
shared = nn.Linear(3, 4)
self.left = nn.Sequential(shared, nn.Linear(4, 2))
self.right = nn.Sequential(shared, nn.Linear(4, 5))""",
    "Repeated": "self.layers = nn.ModuleList([nn.Linear(4, 4)] * 4)",
    # `b.a` is `a`, and what `a` holds stands outside of both.
    "SharedInShared": """\
self.first = nn.Linear(3, 4)
self.a = nn.Sequential(self.first, nn.Linear(4, 2))
self.b = nn.ModuleDict({"a": self.a, "own": nn.Linear(1, 1)})""",
    # Blocks that share one matrix below different parents.
    "TiedAcross": """\
self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6)) for _ in range(3))
for block in self.blocks[1:]:
    block[0].weight = self.blocks[0][0].weight""",
    # A registered child holds its parent.
    "Cycle": """\
self.child = nn.Linear(2, 3)
self.child.parent = self""",
    # The same, where the parent has parameters and other children too.
    "CycleWithOwn": """\
self.scale = nn.Parameter(torch.ones(5))
self.child = nn.Linear(2, 3)
self.child.parent = self
self.other = nn.Linear(1, 1)""",
    # A child that holds its parent past the registration.
    "HiddenParent": """\
self.child = nn.Linear(2, 3)
object.__setattr__(self.child, "parent", self)
self.child.listed = [self]""",
    # --- where parameters stand
    "Root": """\
self.scale = nn.Parameter(torch.ones(7))
self.shift = nn.Parameter(torch.zeros(()))""",
    # A module that has both children and a parameter of its own.
    "Branch": """\
self.block = nn.Sequential(nn.Linear(2, 2))
self.block.token = nn.Parameter(torch.zeros(1, 9))""",
    "Lists": """\
inner = nn.ParameterList([nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(3))])
self.outer = nn.ParameterList([inner, nn.Parameter(torch.zeros(5))])
self.named = nn.ParameterDict(
    {"a b": nn.Parameter(torch.zeros(7)), "ü*[0]": nn.Parameter(torch.zeros(11))}
)""",
    "OddNames": """\
self.parts = nn.ModuleDict(
    {
        "with space": nn.Linear(1, 1),
        "*": nn.Linear(1, 2),
        "[0]": nn.Linear(1, 3),
        "line\\nbreak": nn.Linear(1, 4),
        "ünï😀": nn.Linear(1, 5),
        "a::b, trainable": nn.Linear(1, 6),
        "{}": nn.Linear(1, 7),
        '"': nn.Linear(1, 8),
    }
)""",
    "Nothing": """\
self.bare = nn.Linear(3, 4, bias=False)
self.register_parameter("absent", None)
self.register_buffer("gone", None)
self.register_module("missing", None)
self.norm = nn.LayerNorm(4, elementwise_affine=False)""",
    # --- hidden
    "InTuple": """\
self.sub = nn.Sequential(nn.Linear(1, 1))
self.sub.pair = (nn.Linear(3, 3), torch.zeros(4, requires_grad=True))""",
    # As Lightning's `save_hyperparameters` leaves it, where a module is an argument.
    "SavedArguments": """\
net = nn.Linear(3, 3)
self._hparams, self._hparams_initial = {"net": net}, copy.deepcopy({"net": net})
self.net = net""",
    "BareTensor": """\
self.weight = torch.zeros(6, 2, requires_grad=True)
self.constant = torch.zeros(100)
self.computed = torch.zeros(3, requires_grad=True) * 2""",
    # Nothing is hidden: a plain list of what is registered.
    "ListedElsewhere": """\
self.one, self.two = nn.Linear(2, 2), nn.Linear(2, 3)
self.order = [self.one, self.two]
self.weights = {"w": self.one.weight}""",
    # Hidden once, although two lists hold it.
    "HiddenTwice": """\
layer = nn.Linear(3, 3)
self.a, self.b = [layer], (layer,)""",
    # An LSTM keeps a plain list of its weights: nothing of it is hidden.
    "LstmWeightNorm": 'self.lstm = utils.weight_norm(nn.LSTM(4, 5), "weight_hh_l0")',
    # --- frozen
    "Frozen": """\
self.backbone = nn.Linear(10, 10).requires_grad_(False)
self.head = nn.Linear(10, 2)
self.head.bias.requires_grad = False""",
    # --- rewritten weights
    "old_weight_norm": "return nn.Sequential(utils.weight_norm(nn.Linear(5, 6)))",
    "new_spectral_norm": "return nn.Sequential(parametrizations.spectral_norm(nn.Linear(5, 6)))",
    "orthogonal": "return nn.Sequential(parametrizations.orthogonal(nn.Linear(5, 5)))",
    "completed": """\
layer = nn.Linear(3, 3)
return parametrize.register_parametrization(layer, "weight", Completed())""",
    "pruned": """\
layer = nn.Linear(6, 4)
prune.random_unstructured(layer, "weight", amount=0.5)
return layer""",
    # --- kinds of tensors
    "Complex": "self.w = nn.Parameter(torch.zeros(3, 4, dtype=torch.complex64))",
    "Expanded": "self.w = nn.Parameter(torch.zeros(1, 4).expand(10, 4))",
    "ZeroSize": """\
self.empty = nn.Parameter(torch.zeros(0, 7))
self.full = nn.Parameter(torch.zeros(2))
self.register_buffer("none", torch.zeros(0))""",
    "Mixed": """\
self.half = nn.Linear(10, 4, bias=False).half()
self.brain = nn.Linear(10, 3, bias=False, dtype=torch.bfloat16)
self.double = nn.Linear(10, 2, bias=False).to(torch.float64)
self.single = nn.Linear(10, 1, bias=False)
self.whole = nn.Parameter(torch.zeros(6, dtype=torch.int8), requires_grad=False)""",
    # Quantised: the weights are buffers.
    "Packed": """\
self.register_buffer("weight", torch.zeros(32, 16, dtype=torch.int8))
self.register_buffer("scales", torch.zeros(32, dtype=torch.float16))
self.bias = nn.Parameter(torch.zeros(32))""",
    "Buffers": """\
self.register_buffer("kept", torch.zeros(5))
self.register_buffer("lost", torch.zeros(11), persistent=False)
self.register_buffer("again", self.kept)
flag = torch.zeros(3, dtype=torch.bool)
if hasattr(nn, "Buffer"):  # torch 2.5 and later
    self.flag = nn.Buffer(flag)
else:
    self.register_buffer("flag", flag)""",
    # --- torch's own
    "transformer": "return nn.Transformer(8, 2, 2, 3, 16)",
    "lstm": "return nn.LSTM(6, 10, num_layers=2, bidirectional=True, proj_size=3)",
    "batch_norm": """\
norms = nn.BatchNorm2d(4), nn.BatchNorm2d(4, affine=False)
return nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), *norms)""",
    "leaf": "return nn.Linear(9, 4)",
    # --- hard to build on meta
    "Item": """\
rates = [x.item() for x in torch.linspace(0, 5, 6)]
self.layers = nn.ModuleList(nn.Linear(int(10 + rate), 2) for rate in rates)""",
    "MixedDevices": """\
self.w = nn.Parameter(torch.zeros(3, 4))
steps = torch.tensor([1.0, 2.0, 3.0, 4.0], device="cpu")
self.register_buffer("mixed", self.w.detach() * steps)
self.layer = nn.Linear(int(steps.sum().item()), 2)""",
    "ExplicitCpu": """\
self.w = nn.Parameter(torch.zeros(3, 4, device="cpu"))
self.layer = nn.Linear(4, 2, device="cpu")
self.to("cpu")""",
    "LegacyTensor": """\
self.w = nn.Parameter(torch.Tensor(3, 4))
self.v = nn.Parameter(torch.FloatTensor(5))""",
    "NanGuard": """\
self.w = nn.Parameter(torch.empty(50, 50))
nn.init.xavier_uniform_(self.w)
assert not torch.isnan(self.w).any()
assert self.w.abs().max() < 1 and self.w.abs().max() > 0""",
    "DefaultDtype": """\
torch.set_default_dtype(torch.float64)
self.layer = nn.Linear(3, 3)""",
    "ToCuda": """\
self.embedding = nn.Embedding(5, 4)
self.head = nn.Linear(4, 5, bias=False)
self.head.weight = self.embedding.weight
self.register_buffer("mask", torch.ones(3, device="cuda"))
self.to("cuda")""",
    "Cuda": """\
self.layer = nn.Linear(4, 5).cuda()
self.other = nn.Linear(4, 5).to(torch.device("cuda:0"), torch.float16)
self.size = int((torch.ones(4) * 2).sum().item())
self.last = nn.Linear(self.size, 1).cuda(0)""",
    # 100 billion parameters.
    "Giant": """\
self.layers = nn.ModuleList(nn.Linear(100_000, 100_000, bias=False) for _ in range(10))
for layer in self.layers:
    nn.init.normal_(layer.weight)
    layer.weight.data.normal_(0, 0.02)""",
    # --- drawn at random
    "RandomWidth": "self.layer = nn.Linear(random.randint(1, 1_000_000), 3)",
    "RandomTensorWidth": "self.layer = nn.Linear(int(torch.randint(1, 1_000_000, (1,))), 3)",
    "RandomChoice": "self.layer = nn.Linear(random.choice((64, 128)), 1)",
    # Random numbers that no width depends on.
    "RandomValues": """\
self.order = random.sample(range(10), 10)
self.noise = torch.randn(4)
self.layer = nn.Linear(3, 3)""",
}


def zoo() -> str:
    """A file with all of them."""
    return HEAD + "".join(
        f"\n\ndef {name}():\n{indent(code, '    ')}\n"
        if "return " in code
        else model_source(name, code)
        for name, code in MODELS.items()
    )
