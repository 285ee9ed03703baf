"""Constructors whose counts are hard to derive, each with what is derived in its docstring: a line
for each case (`…`: and further ones), then what else is said of the first.
"""

from __future__ import annotations

import enum
import functools
import math
from itertools import islice, pairwise

import torch
from torch import nn


def linears(*sizes: tuple[int, int]) -> nn.ModuleList:
    return nn.ModuleList(nn.Linear(one, other, bias=False) for one, other in sizes)


def convolutions(*channels: tuple[int, int], kernel: int = 3) -> nn.ModuleList:
    return nn.ModuleList(nn.Conv2d(one, other, kernel) for one, other in channels)


# As MobileNet has it: to the next multiple, unless that is a tenth less.
def divisible(value: float, divisor: int = 8) -> int:
    new = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return new + divisor if new < 0.9 * value else new


# --- arithmetic -------------------------------------------------------------------------------


def greatest_divisor(a=24, b=36):
    """b*(9*(a//(gcd(a, b))) + 1) where gcd(a, b) > 0, gcd(a, b) != 0, a % (gcd(a, b)) == 0, b %
    (gcd(a, b)) == 0
    """
    return nn.Conv2d(a, b, 3, groups=math.gcd(a, b))


def logarithm(size=64, ch=32):
    """ch*max(0, trunc(log2(size)) - 1)*(9*ch + 1)"""
    return convolutions(*[(ch, ch)] * (int(math.log2(size)) - 1))


def of_whole_numbers(a=12, b=10, c=7, n=3):
    """a*(2*a + 2*b + 2*c + a*b//c) + c*abs(a - b) + max(a, b)*min(min(a, b), c) + 3**n*(1 <<
    ((c - 1).bit_length()))
    """
    return linears(
        (max(a, b), min(a, b, c)),
        (a * b // c, a),
        (sum([a, b, c]), math.prod([a, 2])),
        (abs(a - b), c),
        (1 << (c - 1).bit_length(), 3**n),
    )


def of_math(n=6, k=2, d=4):
    """d*(comb(n, k) + factorial(n) + isqrt(n))"""
    return linears((math.factorial(n), d), (math.comb(n, k), d), (math.isqrt(n), d))


def modular(d=64, v=10):
    """2*v where d=64 (its value)"""
    return linears((v, pow(d, 2, 7) + 1))


def padded(vocab=50257, d=16, multiple=64):
    """d*multiple*ceil(vocab/multiple)"""
    return nn.Embedding(math.ceil(vocab / multiple) * multiple, d)


def padded_where_needed(vocab=50257, d=16, m=64):
    """d*m*(vocab//m + 1) where vocab % m != 0
    vocab*d where vocab % m == 0
    """
    if vocab % m != 0:
        vocab += m - vocab % m
    return nn.Embedding(vocab, d)


def wider_than_one_of_two(a=24):
    """3*(16*ceil((8*a//3)/16) + 1)"""
    width = 16 * ((int(8 * a / 3) + 15) // 16)  # never `a`
    return nn.Linear(width, 3 if width != 4 * a or width != a else 4)


def of_llama(dim=512, multiple_of=256, mult=1.3, n=2):
    """dim*multiple_of*n*ceil((floor(mult*(8*dim//3)))/multiple_of)"""
    hidden = int(mult * int(2 * (4 * dim) / 3))
    hidden = multiple_of * ((hidden + multiple_of - 1) // multiple_of)
    return linears(*[(dim, hidden)] * n)


def of_mobile_net(c=100, d=30):
    """64*max(1, (c + 4)//8)*max(1, (d + 4)//8) where 8*max(1, (c + 4)//8) >= 0.9*c, 8*max(1, (d
        + 4)//8) >= 0.9*d
    64*max(1, (c + 4)//8)*(max(1, (d + 4)//8) + 1) where 8*max(1, (c + 4)//8) >= 0.9*c, 8*max(1,
        (d + 4)//8) < 0.9*d
    64*max(1, (d + 4)//8)*(max(1, (c + 4)//8) + 1) where 8*max(1, (c + 4)//8) < 0.9*c, 8*max(1,
        (d + 4)//8) >= 0.9*d
    (64*max(1, (c + 4)//8) + 64)*(max(1, (d + 4)//8) + 1) where 8*max(1, (c + 4)//8) < 0.9*c,
        8*max(1, (d + 4)//8) < 0.9*d
    """
    return linears((divisible(c), divisible(d)))


def by_a_divisor(d=32, divisor=8):
    """max(divisor, divisor*((12*d + divisor)//(2*divisor)))*max(divisor, divisor*((2*d +
        divisor)//(2*divisor))) where max(divisor, divisor*((2*d + divisor)//(2*divisor))) >=
        0.9*d, max(divisor, divisor*((12*d + divisor)//(2*divisor))) >= 0.9*(6*d)
    max(divisor, divisor*((2*d + divisor)//(2*divisor)))*(divisor + max(divisor, divisor*((12*d
        + divisor)//(2*divisor)))) where max(divisor, divisor*((2*d + divisor)//(2*divisor))) >=
        0.9*d, max(divisor, divisor*((12*d + divisor)//(2*divisor))) < 0.9*(6*d) …
    """
    return linears((divisible(d, divisor), divisible(6 * d, divisor)))


def shares(d=100, r=0.25, mlp_ratio=4.0, k=3):
    """d*(max(1, floor(d*r)) + floor(d*mlp_ratio)) + round(d*0.3)*round(d/k)"""
    return linears((d, int(d * mlp_ratio)), (d, max(1, int(d * r))), (round(d / k), round(d * 0.3)))


def shares_that_do_not_vanish(dim=64, ratio=0.5, other=4.0):
    """(floor(dim*other) + floor(dim*ratio))*(dim + 1) where floor(dim*ratio) != 0,
        floor(dim*other) != 0
    dim*(dim + floor(dim*ratio) + 1) + floor(dim*ratio) where floor(dim*ratio) != 0,
        floor(dim*other) == 0
    dim*(dim + floor(dim*other) + 1) + floor(dim*other) where floor(dim*ratio) == 0,
        floor(dim*other) != 0
    2*dim*(dim + 1) where floor(dim*ratio) == 0, floor(dim*other) == 0
    """
    return nn.ModuleList(nn.Linear(dim, int(dim * r) or dim) for r in (ratio, other))


def share_of_a_share(share=1.0):
    """24*max(1, (floor(16*share + 4))//8) + 24*max(1, (floor(80*share + 4))//8) where 8*max(1,
    (floor(16*share + 4))//8) >= 0.9*(16*share), 8*max(1, (floor(80*share + 4))//8) >=
    0.9*(80*share)
    """
    return linears((3, divisible(16 * share)), (3, divisible(80 * share)))


def shift_of_depth(depth=40, w=4):
    """w**2*(trunc((depth - 4)/6) + 2)"""
    return linears((w, 2 * w), *[(w, w)] * int((depth - 4) / 6))


# --- decisions --------------------------------------------------------------------------------


def far_and_farther(vocab=500, d=16):
    """vocab*d where vocab < 1000
    2*vocab*d where vocab >= 1000, vocab < 20000
    4*vocab*d where vocab >= 20000
    """
    return linears((vocab, d if vocab < 1000 else 2 * d if vocab < 20_000 else 4 * d))


def a_few_far(d=16, n=2):  # noqa: ARG001
    """d**2 where d < 300 or d >= 310
    d*(d + 1) where 300 <= d <= 309
    no effect: n
    """
    return linears((d, d + (1 if 300 <= d < 310 else 0)))


def in_a_range(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v), *[(d, 1)] * (d in range(2000, 4000)))


def residue(width=100):
    """width where width % 7 != 3
    width + 1 where width % 7 == 3
    """
    return linears((width + (width % 7 == 3), 1))


def halved_or_not(dim=64, n=2):
    """7*n*(dim//4) where dim >= 4
    63*n where dim <= 3
    """
    return linears(*[(7, dim // 4 or 9)] * n)


def power_of_two_required(size=64, d=16):
    """d*((size).bit_length() - 1)*(9*d + 1) where size > 0 needs (size & (size - 1)) == 0"""
    assert size & (size - 1) == 0, "power of two"
    return convolutions(*[(d, d)] * (size.bit_length() - 1))


def one_of_four(patch=16, d=64):
    """d*(3*patch**2 + (224//patch)**2 + 1) where patch in (8, 14, 16, 32)"""
    if patch not in (8, 14, 16, 32):
        raise ValueError(patch)
    return linears((3 * patch**2, d), ((224 // patch) ** 2 + 1, d))


def four_at_most(n=4, w=8):
    """16*w**2 where n=4 (its value)"""
    assert 1 <= n <= 4
    return linears(*[(w, width) for width in [w, 2 * w, 5 * w, 8 * w][:n]])


def tied(d_model=32, heads=4, head_dim=8, d_ff=128):
    """d_model*d_ff needs d_ff == 4*d_model, d_model == heads*head_dim
    no effect: heads, head_dim
    """
    if d_ff != 4 * d_model:
        raise ValueError("d_ff must be 4 * d_model")
    assert heads * head_dim == d_model
    return linears((d_model, d_ff))


def projected(inputs=64, hidden=128, proj=32, token=1):  # noqa: ARG001
    """hidden*(4*inputs + 5*proj + 8) where proj > 0 needs hidden > proj, inputs % 2 == 0
    no effect: token
    """
    if proj >= hidden:
        raise ValueError("proj has to be smaller than hidden")
    if inputs % 2:
        raise ValueError("inputs must be even")
    return nn.LSTM(inputs, hidden, proj_size=proj)


def fussy(width=8, version=3):
    """3*width
    fixed: version: ValueError: there is no version 4
    """
    if version != 3:
        raise ValueError(f"there is no version {version}")
    return linears((width, version))


def stubborn(width=8):
    """– the model can only be built as called: ValueError: 8 it is"""
    if width != 8:
        raise ValueError("8 it is")
    return linears((width, 1))


def grouped_heads(d=48, n_head=6, n_kv=2):
    """d*(2*n_kv*(d//n_head) + d) needs d % n_head == 0, n_head % n_kv == 0"""
    assert d % n_head == 0
    assert n_head % n_kv == 0
    size = d // n_head
    return linears((d, n_head * size), (d, 2 * n_kv * size))


def repeated_heads(d=48, n_head=6, n_kv=2):
    """d*(n_head*(d//n_head) + (2*n_head*(d//n_head))//(n_head//n_kv)) needs n_head >= n_kv"""
    if n_kv > n_head:
        raise ValueError
    size, repeated = d // n_head, n_head // n_kv
    return linears((d, n_head * size), (d, 2 * size * n_head // repeated))


def largest_group(groups=32, c=64):
    """c*(c//(min(groups, c//4)) + 1) where c % (min(groups, c//4)) == 0, min(groups, c//4) > 0
        needs min(groups, c//4) != 0
    c*(c//(min(groups, c//4) - 1) + 1) where c % (min(groups, c//4)) != 0, min(groups, c//4) !=
        1, c % (min(groups, c//4) - 1) == 0, min(groups, c//4) >= 2 needs min(groups, c//4) != 0
        …
    """
    g = min(groups, c // 4)
    while c % g != 0:
        g -= 1
    return nn.Conv2d(c, c, 1, groups=g)


# One as wide as the model needs no projection.
def single_head(dim=64, heads=8, dim_head=32):
    """4*dim*heads*dim_head where heads != 1 or dim != dim_head
    3*dim*dim_head where dim == dim_head, heads == 1
    """
    inner = heads * dim_head
    needs = not (heads == 1 and dim_head == dim)
    return linears((dim, 3 * inner), *[(inner, dim)] * needs)


def bottleneck(inplanes=64, planes=64, stride=1):
    """planes*(5*inplanes + 13*planes + 10) where inplanes != 4*planes or stride != 1
    planes*(inplanes + 13*planes + 2) where inplanes == 4*planes, stride == 1
    """
    shortcut = [(inplanes, 4 * planes)] * (stride != 1 or inplanes != planes * 4)
    norms = [nn.BatchNorm2d(width) for _, width in shortcut]
    pairs = (inplanes, planes), (planes, planes * 9), (planes, planes * 4), *shortcut
    return nn.ModuleList([*linears(*pairs), *norms, nn.BatchNorm2d(planes)])


def tied_by_chance(vocab=100, emb=32, hid=32):
    """4*hid*(emb + hid + 2) + vocab*(emb + 1) where emb == hid
    hid*(vocab + 4*emb + 4*hid + 8) + vocab*(emb + 1) where emb != hid
    """
    module = nn.ModuleList([nn.Embedding(vocab, emb), nn.LSTM(emb, hid), nn.Linear(hid, vocab)])
    if emb == hid:
        module[2].weight = module[0].weight
    return module


def ends_and_middle(inside=16, outside=4, width=8, depth=3):
    """width*(2*inside + 2*outside + width) where inside != width, outside != width, depth=3
        (its value)
    width*(2*inside + outside + width) where inside != width, outside == width, depth=3 (its
        value)
    width*(inside + 2*outside + width) where inside == width, outside != width, depth=3 (its
        value)
    width*(inside + outside + width) where inside == width, outside == width, depth=3 (its
        value)
    """
    ends = [width] * (depth - 1) + [outside]
    pairs = [*zip([inside, *ends], ends, strict=False)]
    return linears(*pairs, *[pair for pair in pairs if pair[0] != pair[1]])


# --- repetitions ------------------------------------------------------------------------------


# The first layer, the last, and those between them have shapes of their own.
def perceptron(inputs=10, hidden=32, outputs=5, layers=4):
    """hidden*(hidden*(layers - 1) + inputs + outputs + layers) + outputs where layers > 0"""
    pairs = pairwise([inputs, *[hidden] * layers, outputs])
    parts = [part for one, other in pairs for part in (nn.Linear(one, other), nn.ReLU())]
    return nn.Sequential(*parts)


def experts_with_biases(d=8, layers=6, first=2, E=4):
    """d*(2*E*max(0, layers - first)*(d + 1) + d*min(first, layers))
    not proved: first: decisions in a loop
    """
    return nn.ModuleList(
        nn.Linear(d, d, bias=False)
        if i < first
        else nn.ModuleList(nn.Linear(d, 2 * d) for _ in range(E))
        for i in range(layers)
    )


def every_other(d=32, f=64, n=6, E=4, every=2):
    """d*((n//every)*(f*(E - 1) + E) + f*n)
    not proved: every: decisions in a loop
    """
    return nn.ModuleList(
        linears((d, E), *[(d, f)] * E) if (i + 1) % every == 0 else linears((d, f))
        for i in range(n)
    )


def some_global(d=32, n=7, global_every=3, kv=4):
    """d*(ceil(n/global_every)*(d - kv) + n*kv)
    not proved: global_every: decisions in a loop
    """
    return linears(*[(d, kv if i % global_every else d) for i in range(n)])


def some_from_the_first(n=8, d=8, e=3, every=2, first=1):
    """d**2*(3*e + 5) where every == 2, (first <= 1 and every >= 2) or first == 2, n=8 (its
    value) …
    """
    return linears(*[(d, d * e if i >= first and i % every == 0 else d) for i in range(n)])


def wide_at_the_end(n=6, d=16, last=2):
    """d**2*min(2*n, n + last)
    not proved: last: decisions in a loop
    """
    return linears(*[(d, d * 2 if i >= n - last else d) for i in range(n)])


def shared_groups(d=32, n=12, groups=3):
    """d*min(groups, n)*(d + 1)"""
    shared = [nn.Linear(d, d) for _ in range(groups)]
    return nn.ModuleList(shared[i % groups] for i in range(n))


def pairs_of_fields(fields=5, d=4):
    """fields*d**2*(fields - 1)/2"""
    return linears(*[(d, d) for i in range(fields) for _ in range(i + 1, fields)])


def dense_net(init=16, growth=8, n=4, bn=4):
    """(n*(growth*(bn*(growth*(n + 17) + 2*init) + 2*(n + 9)) + 4*init) + 20*init + 20)/2"""
    parts, width = [], init
    for _ in range(n):
        inner = bn * growth
        parts += [nn.BatchNorm2d(width), *linears((width, inner), (9 * inner, growth))]
        width += growth
    return nn.ModuleList([*parts, nn.Linear(width, 10)])


def wider_each_layer(d=8, growth=4, n=3, ratio=0.5):
    """n*floor(ratio*d)*(growth*(n - 1) + 2*(d + 1))/2"""
    return nn.ModuleList(nn.Linear(d + growth * i, int(ratio * d)) for i in range(n))


# Of DenseNet: after each block the width is halved, whatever it is.
def transitions(growth=12, init=16, first=2, last=3, classes=10):
    """(growth*(growth*(first*(first - 1) + last*(last - 1)) + 2*(((growth*first +
    init)//2)*(first + last) + init*first + last*((growth*last + (growth*first +
    init)//2)//2))) + 2*(((growth*first + init)//2)*(init + (growth*last + (growth*first
    + init)//2)//2) + classes*((growth*last + (growth*first + init)//2)//2)))/2
    """
    width, pairs = init, []
    for layers in (first, last):
        pairs += [(width + i * growth, growth) for i in range(layers)]
        width += layers * growth
        pairs.append((width, width // 2))
        width //= 2
    return linears(*pairs, (width, classes))


# Each layer adds more than the one before; a third of it all is kept.
def widening(depth=4, growth=6, init=10, out=7):
    """out*((depth**2*growth - depth*growth + 2*init)//6)"""
    width = init
    for i in range(depth):
        width += i * growth
    return linears((width // 3, out))


def doubling_and_out(base=16, levels=4, kernel=3, classes=10):
    """(base*(2**levels*(2*base*kernel**2*2**levels + 3*classes + 6) - 2*(base*kernel**2 + 3)) +
    3*classes)/3
    """
    widths = [base * 2**level for level in range(levels + 1)]
    levels = convolutions(*pairwise(widths), kernel=kernel)
    return nn.ModuleList([*levels, nn.Linear(widths[-1], classes)])


def every_two_levels(d=8, n=6):
    """d**2*(2**n - 1)"""
    return linears(*pairwise([d * 2 ** (i // 2) for i in range(n + 1)]))


def doubling_to_a_cap(base=32, depth=4, cap=128):
    """min(2*base, cap)*(9*min(base, cap) + 9*min(4*base, cap) + 1) + min(4*base,
    cap)*(9*min(8*base, cap) + 1) + 28*min(base, cap) + min(8*base, cap) where depth=4
    (its value)
    """
    return convolutions(*pairwise([3, *(min(base * 2**i, cap) for i in range(depth))]))


def halving(d=256, out=10):
    """(d//16)*(out + d//8) + (d//2)*(d + d//4) + (d//4)*(d//8) where 136 <= d <= 271
    d*out where d <= 16 …
    """
    pairs = []
    while d > 16:
        pairs.append((d, d // 2))
        d //= 2
    return linears(*pairs, (d, out))


def halving_to_an_end(size=64, d=8):
    """4*d**2 where 64 <= size <= 79
    0 where size == 4 …
    """
    number = 0
    while size != 4:  # which has no end for 65
        size //= 2
        number += 1
    return linears(*[(d, d)] * number)


# The largest kernel has what is left of the width.
def sorted_sizes(cin=3, dim=64, small=4, middle=8, large=16):
    """cin*(large*(dim - dim//2 - dim//4) + small*(dim//2) + middle*(dim//4)) where middle >=
        small, large >= middle
    cin*(small*(dim - dim//2 - dim//4) + middle*(dim//4) + large*(dim//2)) where small > middle,
        middle > large …
    """
    sizes = sorted([small, middle, large])
    widths = [dim // 2**i for i in range(1, len(sizes))]
    widths.append(dim - sum(widths))
    return linears(*[(cin * size, width) for size, width in zip(sizes, widths, strict=True)])


# --- layers of torch --------------------------------------------------------------------------


def linear(in_features=10, out_features=5):
    """out_features*(in_features + 1)"""
    return nn.Linear(in_features, out_features)


def convolution(in_channels=64, out_channels=128, kernel_size=3, groups=4, stride=2):
    """out_channels*(kernel_size**2*(in_channels//groups) + 1) needs in_channels % groups == 0,
        out_channels % groups == 0
    no effect: stride
    """
    return nn.Conv2d(in_channels, out_channels, kernel_size, stride, groups=groups)


def lstm(input_size=64, hidden_size=128, num_layers=2):
    """4*hidden_size*(hidden_size*(2*num_layers - 1) + input_size + 2*num_layers)"""
    return nn.LSTM(input_size, hidden_size, num_layers)


def lstm_both_ways(input_size=64, hidden_size=128, num_layers=2, proj_size=32):
    """2*hidden_size*(num_layers*(13*proj_size + 8) + 4*(input_size - 2*proj_size)) where
    proj_size > 0 needs hidden_size > proj_size
    """
    return nn.LSTM(input_size, hidden_size, num_layers, proj_size=proj_size, bidirectional=True)


def attention(embed_dim=64, num_heads=4, kdim=32, vdim=48):
    """embed_dim*(2*embed_dim + kdim + vdim + 4) where embed_dim != kdim or embed_dim != vdim
        needs embed_dim % num_heads == 0
    4*embed_dim*(embed_dim + 1) where embed_dim == kdim, embed_dim == vdim needs embed_dim %
        num_heads == 0
    no effect: num_heads
    not proved: embed_dim, kdim, vdim: made a plain number
    """
    return nn.MultiheadAttention(embed_dim, num_heads, kdim=kdim, vdim=vdim)


def encoder_layer(d_model=64, nhead=4, dim_feedforward=2048):
    """d_model*(4*d_model + 2*dim_feedforward + 9) + dim_feedforward needs d_model % nhead == 0
    no effect: nhead
    not proved: d_model: made a plain number
    """
    return nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward)


def of_a_shape(a=12, b=20):
    """a*(2*b + 1) + b"""
    layer = nn.Linear(a, b)
    return nn.ModuleList([layer, nn.Linear(layer.weight.shape[0], layer.weight.size(1))])


# A tensor that is made of others has lengths that cannot be followed.
class Joined(nn.Module):
    """2*wide*high
    not proved: high: a loop or an index
    not proved: wide, high: a tensor that was joined or cut
    """

    def __init__(self, wide=12, high=20):
        super().__init__()
        parts = [torch.zeros(wide, high), torch.zeros(wide, high)]
        self.weight = nn.Parameter(torch.cat(parts, 1))


# --- what asks a number in other ways ---------------------------------------------------------

KINDS = {int: 2, float: 3}
FEW = 4
WIDTHS = {4096: 11_008, 5120: 13_824}


class Size(enum.IntEnum):
    LARGE = 4096


class Numpy(float):
    def __repr__(self):
        return f"np.float64({super().__repr__()})"


@functools.cache
def rounded_up(d, m):
    return m * ((8 * d // 3 + m - 1) // m)


@functools.cache
def shared(d):
    return nn.Linear(d, d)


class Cached:
    @staticmethod
    @functools.cache
    def half(d):
        return max(1, d // 2)


def typed(d=64, v=10):
    """v*(d + 2)"""
    if type(d) is int and type(v) == int and bool is bool:  # noqa: E721
        return linears((d, v), (KINDS[type(v)], v))
    return linears((d, 1))


def told_by_class(d=64, v=10):
    """– with traced numbers the constructor builds another model than with plain ones"""
    return linears((d, v if d.__class__ is int else 1))


def told_by_identity(d=64, v=10):
    """– with traced numbers the constructor builds another model than with plain ones"""
    return nn.ModuleList([shared(d), shared(d * v // v)])


def refused_by_class(d=64, v=10):
    """– the model cannot be built with traced numbers: TypeError: d is no int"""
    if d.__class__ is not int:
        raise TypeError("d is no int")
    return linears((d, v))


def refused_where_large(d=64, v=10):
    """d*v where d < 100"""
    if d > 99 and d.__class__ is not int:
        raise TypeError("d is no int")
    return linears((d, v))


def cached(d=64, m=16, v=10):
    """d*m*ceil((8*d//3)/m) + v*max(1, d//2)"""
    return linears((d, rounded_up(d, m)), (v, Cached.half(d)))


def in_digits(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v), *[(d, 7)] * (len(str(d)) > 4))


def in_words(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v), *[(d, 7)] * (f"{d}" == "4096"))


def in_a_pattern(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v), *[(d, 7)] * (len("%d" % d) > 4))  # noqa: UP031


def in_a_name(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v), *[(d, 7)] * ("w%d" % d == "w4096"))  # noqa: UP031


def in_bits(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v + (bin(d).count("1") > 9)))


def in_digits_alone(width=100):
    """– no closed form found; width: a loop or an index"""
    return linears((bin(width).count("1"), 1))


def in_bytes(d=64, v=10):
    """64*v where d=64 (its value)"""
    return linears((d, v), *[(d, 3)] * (d.to_bytes(4, "big")[2] > 8))


def the_same(d=64, v=10):
    """– with traced numbers the constructor builds another model than with plain ones"""
    return linears((d, v), *[(d, 5)] * (v is FEW))


def of_other_kinds(d=64, v=10):
    """v*(3*d//2) where d <= 99
    v*(3*d//2) + 5*d where d >= 100
    """
    return linears((int(d * Numpy(1.5)), v), *[(d, 5)] * (d == Size.LARGE or d > Numpy(99.5)))


def divided_often(d=8, every=2):
    """13*d where every == 2
    9*d where every >= 5
    11*d where every >= 3, every == 3 or (3 % every != 0 and 4 % every == 0)
    15*d where every == 1
    """
    return linears(*[(d, 3 if number % every else 5) for number in (2, 3, 4)])


def in_a_table(d=64, v=10):
    """64*v + 16_384 where d=64 (its value)"""
    return linears((d, WIDTHS.get(d, 4 * d)), (d, v))


def keys_of_a_table(depth=50, w=16):
    """16*w**2 where depth=50 (its value)
    fixed: depth: KeyError: 51
    not proved: depth: a key of a table
    """
    return linears(*[(w, w)] * {18: 8, 50: 16}[depth])


def first_few(d=16, n=3):
    """3*d where n=3 (its value)"""
    return nn.ModuleList(islice((nn.Linear(d, 1, bias=False) for _ in range(20)), n))
