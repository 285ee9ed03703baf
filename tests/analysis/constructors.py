"""Constructors whose counts are hard to derive: branches, roundings, tables, loops in loops."""

# ruff: noqa
import math
from typing import Optional

import torch
import torch.nn as nn


class MaxMin(nn.Module):
    def __init__(self, a=48, b=64, c=32):
        super().__init__()
        self.x = nn.Linear(max(a, b), min(b, c))
        self.y = nn.Linear(min(a, b, c), max(a, c) + min(a, b))


def make_divisible(v, divisor=8, min_value=None):
    if min_value is None:
        min_value = divisor
    new_v = max(min_value, int(v + divisor / 2) // divisor * divisor)
    if new_v < 0.9 * v:
        new_v += divisor
    return new_v


class MobileInt(nn.Module):
    def __init__(self, c=100, d=30):
        super().__init__()
        self.e = nn.Linear(make_divisible(c), make_divisible(d), bias=False)


class SE(nn.Module):
    def __init__(self, c=64, r=16, k=3):
        super().__init__()
        m = max(1, c // r)
        self.conv = nn.Conv2d(c, c, k)
        self.f1 = nn.Conv2d(c, m, 1)
        self.f2 = nn.Conv2d(m, c, 1)


class First3(nn.Module):
    """first k layers dense, rest MoE (DeepSeek)"""

    def __init__(self, d=32, n=6, first=3, E=4, f=48):
        super().__init__()
        self.b = nn.ModuleList(
            nn.Linear(d, f) if i < first else nn.ModuleList(nn.Linear(d, f) for _ in range(E))
            for i in range(n)
        )


class Geo(nn.Module):
    def __init__(self, base=64, depth=4, cin=3):
        super().__init__()
        ws = [base * 2**i for i in range(depth)]
        self.d = nn.ModuleList(nn.Conv2d(a, b, 3) for a, b in zip([cin] + ws[:-1], ws))


class Tri(nn.Module):
    def __init__(self, n=5, d=4):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(i + 1, d) for i in range(n))


class PairTri(nn.Module):
    """factorization: one per pair i<j"""

    def __init__(self, fields=5, d=4):
        super().__init__()
        self.w = nn.ModuleList(
            nn.Bilinear(d, d, 1, bias=False) for i in range(fields) for j in range(i + 1, fields)
        )


class Gcd(nn.Module):
    def __init__(self, a=24, b=36):
        super().__init__()
        g = math.gcd(a, b)
        self.c = nn.Conv2d(a, b, 3, groups=g)


class Pow2(nn.Module):
    def __init__(self, n=20, d=8):
        super().__init__()
        self.c = nn.Linear(1 << (n - 1).bit_length(), d)


class Sqrt(nn.Module):
    def __init__(self, n=100, d=8):
        super().__init__()
        self.c = nn.Linear(math.isqrt(n), d)


class Str(nn.Module):
    def __init__(self, d=32, n=3, norm="layer", act="swiglu"):
        super().__init__()
        N = {"layer": nn.LayerNorm, "rms": nn.RMSNorm, "none": nn.Identity}[norm]
        h = int(8 * d / 3) if act == "swiglu" else 4 * d
        self.l = nn.ModuleList(
            nn.Sequential(N(d), nn.Linear(d, h * (2 if act == "swiglu" else 1)), nn.Linear(h, d))
            for _ in range(n)
        )


class Tie(nn.Module):
    def __init__(self, vocab=100, emb=32, hid=32):
        super().__init__()
        self.e = nn.Embedding(vocab, emb)
        self.r = nn.LSTM(emb, hid)
        self.o = nn.Linear(hid, vocab)
        if emb == hid:
            self.o.weight = self.e.weight


class ShareMod(nn.Module):
    def __init__(self, d=32, n=12, groups=3):
        super().__init__()
        g = [nn.Linear(d, d) for _ in range(groups)]
        self.l = nn.ModuleList(g[i % groups] for i in range(n))


class Moe(nn.Module):
    def __init__(self, d=32, f=64, n=6, E=4, every=2):
        super().__init__()
        self.b = nn.ModuleList()
        for i in range(n):
            if (i + 1) % every == 0:
                self.b.append(
                    nn.ModuleDict(
                        dict(
                            gate=nn.Linear(d, E, bias=False),
                            experts=nn.ModuleList(nn.Linear(d, f) for _ in range(E)),
                        )
                    )
                )
            else:
                self.b.append(nn.ModuleDict(dict(ff=nn.Linear(d, f))))


class Far(nn.Module):
    def __init__(self, vocab=500, d=16):
        super().__init__()
        self.e = nn.Embedding(vocab, d)
        if vocab > 10000:
            self.extra = nn.Linear(d, d)


class FarMid(nn.Module):
    def __init__(self, d=16, n=2):
        super().__init__()
        self.e = nn.Linear(d, d + (1 if 300 <= d < 310 else 0))


class AssertPow(nn.Module):
    def __init__(self, size=64, d=16):
        super().__init__()
        assert size & (size - 1) == 0, "power of two"
        n = size.bit_length() - 1
        self.l = nn.ModuleList(nn.Conv2d(d, d, 3) for _ in range(n))


class Lstm(nn.Module):
    def __init__(self, i=10, h=20, p=5, n=2, out=7):
        super().__init__()
        self.r = nn.LSTM(i, h, n, proj_size=p, bidirectional=True)
        self.o = nn.Linear(2 * p, out)


class MhaTrap(nn.Module):
    def __init__(self, e=32, h=4, kd=24, vd=16):
        super().__init__()
        self.a = nn.MultiheadAttention(e, h, kdim=kd, vdim=vd, add_bias_kv=True)


class Padded(nn.Module):
    def __init__(self, vocab=50257, d=16, multiple=64):
        super().__init__()
        self.e = nn.Embedding(math.ceil(vocab / multiple) * multiple, d)


class LlamaFfn(nn.Module):
    def __init__(self, dim=512, multiple_of=256, mult=1.3, n=2):
        super().__init__()
        h = int(2 * (4 * dim) / 3)
        h = int(mult * h)
        h = multiple_of * ((h + multiple_of - 1) // multiple_of)
        self.w = nn.ModuleList(nn.Linear(dim, h, bias=False) for _ in range(n))


class Decay(nn.Module):
    """halving until small"""

    def __init__(self, d=256, out=10):
        super().__init__()
        l = []
        while d > 16:
            l.append(nn.Linear(d, d // 2))
            d //= 2
        self.l = nn.Sequential(*l, nn.Linear(d, out))


class AltDepth(nn.Module):
    """downsample every 2 layers: d*2**(i//2)"""

    def __init__(self, d=8, n=6):
        super().__init__()
        ws = [d * 2 ** (i // 2) for i in range(n + 1)]
        self.l = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in zip(ws, ws[1:]))


class ResShort(nn.Module):
    def __init__(self, cin=64, cout=64, stride=1, e=4):
        super().__init__()
        self.c = nn.Conv2d(cin, cout, 3)
        self.d = nn.Conv2d(cout, cout * e, 1)
        if stride != 1 or cin != cout * e:
            self.sc = nn.Conv2d(cin, cout * e, 1)


class Ternary(nn.Module):
    def __init__(self, d=32, n=7, global_every=3, kv=4):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(d, kv if (i % global_every) else d) for i in range(n))


class Div0(nn.Module):
    """n // d of two args multiplicative: (a*b)//c"""

    def __init__(self, a=12, b=10, c=7):
        super().__init__()
        self.l = nn.Linear(a * b // c, a)


class DepthTable(nn.Module):
    def __init__(self, depth=50, w=16):
        super().__init__()
        reps = {
            18: [2, 2, 2, 2],
            34: [3, 4, 6, 3],
            50: [3, 4, 6, 3],
            101: [3, 4, 23, 3],
            152: [3, 8, 36, 3],
        }[depth]
        self.s = nn.ModuleList(
            nn.ModuleList(nn.Conv2d(w * 2**i, w * 2**i, 3) for _ in range(r))
            for i, r in enumerate(reps)
        )


class LogLoose(nn.Module):
    def __init__(self, size=64, ch=32):
        super().__init__()
        self.b = nn.ModuleList(nn.Conv2d(ch, ch, 3) for _ in range(int(math.log2(size)) - 1))


class PatchSet(nn.Module):
    def __init__(self, patch=16, d=64):
        super().__init__()
        if patch not in (8, 14, 16, 32):
            raise ValueError(patch)
        self.p = nn.Conv2d(3, d, patch)
        self.pos = nn.Parameter(torch.zeros((224 // patch) ** 2 + 1, d))


class FewN(nn.Module):
    """stages at most 4"""

    def __init__(self, stages=4, w=8):
        super().__init__()
        assert 1 <= stages <= 4
        ws = [w, 2 * w, 5 * w, 8 * w][:stages]
        self.l = nn.ModuleList(nn.Linear(w, x) for x in ws)


class Lucid(nn.Module):
    """lucidrains ViT attention"""

    def __init__(self, dim=64, heads=8, dim_head=16):
        super().__init__()
        inner = dim_head * heads
        project_out = not (heads == 1 and dim_head == dim)
        self.qkv = nn.Linear(dim, inner * 3, bias=False)
        self.out = nn.Linear(inner, dim) if project_out else nn.Identity()


class SumEq(nn.Module):
    def __init__(self, a=16, b=24, d=32):
        super().__init__()
        self.x = nn.Linear(a, d)
        self.y = nn.Linear(b, d)
        if a + b != d:
            self.p = nn.Linear(a + b, d)


class Pow(nn.Module):
    """Blocks by resolution.

    nparam: d*(d + 1)*(16*(size//3) - 5*size + 80)/16
    """

    def __init__(self, size=64, d=16):
        super().__init__()
        assert size & (size - 1) == 0, "power of two"
        self.l = nn.ModuleList(nn.Linear(d, d) for _ in range(size.bit_length() - 1))


class Bottleneck(nn.Module):
    """ResNet bottleneck.

    nparam: planes*(5*inplanes + 13*planes + 20)
    """

    def __init__(self, inplanes=64, planes=64, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, bias=False)
        self.conv3 = nn.Conv2d(planes, planes * 4, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.shortcut = nn.Sequential()
        if stride != 1 or inplanes != planes * 4:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inplanes, planes * 4, 1, stride, bias=False), nn.BatchNorm2d(planes * 4)
            )


class UNet(nn.Module):
    def __init__(self, base=16, depth=4, cin=3):
        super().__init__()
        c = cin
        self.down = nn.ModuleList()
        self.up = nn.ModuleList()
        for i in range(depth):
            self.down.append(nn.Conv2d(c, base * 2**i, 3))
            c = base * 2**i
        for i in reversed(range(depth - 1)):
            self.up.append(nn.ConvTranspose2d(c, base * 2**i, 2))
            c = base * 2**i


class CapGeo(nn.Module):
    def __init__(self, base=32, depth=4, cap=128):
        super().__init__()
        ws = [min(base * 2**i, cap) for i in range(depth)]
        self.c = nn.ModuleList(nn.Conv2d(a, b, 3) for a, b in zip([3] + ws, ws))


class Fact(nn.Module):
    def __init__(self, n=4, d=3):
        super().__init__()
        self.l = nn.Linear(math.factorial(n), d)


class Binom(nn.Module):
    def __init__(self, n=6, k=2, d=4):
        super().__init__()
        self.l = nn.Linear(math.comb(n, k), d)


class Far3(nn.Module):
    def __init__(self, vocab=500, d=16):
        super().__init__()
        dd = d if vocab < 1000 else 2 * d if vocab < 20000 else 4 * d
        self.e = nn.Embedding(vocab, dd)


class Padded64(nn.Module):
    def __init__(self, vocab=50257, d=16):
        super().__init__()
        self.e = nn.Embedding((vocab + 63) // 64 * 64, d)


class PaddedNext(nn.Module):
    def __init__(self, vocab=50257, d=16):
        super().__init__()
        self.e = nn.Embedding((vocab // 64 + 1) * 64, d)


class PaddedIf(nn.Module):
    def __init__(self, vocab=50257, d=16, m=64):
        super().__init__()
        if vocab % m != 0:
            vocab += m - vocab % m
        self.e = nn.Embedding(vocab, d)


class RelPos(nn.Module):
    def __init__(self, res=224, patch=16, w=7, h=3):
        super().__init__()
        n = (res // patch) ** 2
        self.t = nn.Parameter(torch.zeros((2 * w - 1) * (2 * w - 1), h))
        self.p = nn.Parameter(torch.zeros(1, n + 1, 8))
        coords = torch.arange(w)


class Gqa(nn.Module):
    def __init__(self, d=48, n_head=6, n_kv=2):
        super().__init__()
        assert d % n_head == 0 and n_head % n_kv == 0
        hd = d // n_head
        self.q = nn.Linear(d, n_head * hd)
        self.kv = nn.Linear(d, 2 * n_kv * hd)
        self.o = nn.Linear(n_head * hd, d)


class GqaDiv(nn.Module):
    def __init__(self, d=48, n_head=6, n_kv=2):
        super().__init__()
        hd = d // n_head
        if n_kv > n_head:
            raise ValueError
        rep = n_head // n_kv
        self.q = nn.Linear(d, n_head * hd)
        self.kv = nn.Linear(d, 2 * hd * n_head // rep)


class Assert(nn.Module):
    def __init__(self, d=48, h=4, g=2):
        super().__init__()
        assert d % h == 0
        assert d % g == 0
        self.a = nn.Linear(d, d // h)
        self.n = nn.GroupNorm(g, d)


class ConvT(nn.Module):
    def __init__(self, cin=24, cout=12, k=3, g=2):
        super().__init__()
        self.c = nn.ConvTranspose2d(cin, cout, k, groups=g)
        self.d = nn.Conv1d(cin, cout, k, groups=g)


class Kern(nn.Module):
    def __init__(self, c=8, ks=(3, 5, 7)):
        super().__init__()
        self.l = nn.ModuleList(nn.Conv2d(c, c, k) for k in ks)


class CrossLayers(nn.Module):
    def __init__(self, n=6, d=16, last=2):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(d, d * 2 if i >= n - last else d) for i in range(n))


class Basic(nn.Module):
    def __init__(self, inp=64, planes=64, stride=1):
        super().__init__()
        self.c1 = nn.Conv2d(inp, planes, 3, stride, bias=False)
        self.c2 = nn.Conv2d(planes, planes, 3, bias=False)
        if stride != 1 or inp != planes:
            self.d = nn.Sequential(
                nn.Conv2d(inp, planes, 1, stride, bias=False), nn.BatchNorm2d(planes)
            )


class Half(nn.Module):
    def __init__(self, d=64, h=32):
        super().__init__()
        self.a = nn.Linear(d, d // 2)
        if d == 2 * h:
            self.b = nn.Identity()
        else:
            self.b = nn.Linear(d, h)


class ResNetK(nn.Module):
    def __init__(self, t=6, cin=16, cout=24):
        super().__init__()
        h = int(round(cin * t))
        l = []
        if t != 1:
            l.append(nn.Conv2d(cin, h, 1, bias=False))
        l += [nn.Conv2d(h, h, 3, groups=h, bias=False), nn.Conv2d(h, cout, 1, bias=False)]
        self.c = nn.Sequential(*l)


class Win(nn.Module):
    def __init__(self, d=48, res=14, window=7, heads=3):
        super().__init__()
        window = min(window, res)
        if res <= window:
            shift = 0
        self.t = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        self.q = nn.Linear(d, 3 * d)


class Width(nn.Module):
    def __init__(self, c=32, mult=1.4, depth_mult=1.2, n=3):
        super().__init__()

        def mk(v, d=8):
            nv = max(d, int(v + d / 2) // d * d)
            return nv + d if nv < 0.9 * v else nv

        w = mk(c * mult)
        reps = int(math.ceil(depth_mult * n))
        self.l = nn.ModuleList(nn.Conv2d(w, w, 3) for _ in range(reps))


class Ratio(nn.Module):
    def __init__(self, d=100, r=0.25, mlp_ratio=4.0):
        super().__init__()
        self.a = nn.Linear(d, int(d * mlp_ratio))
        self.b = nn.Linear(d, max(1, int(d * r)))


class Rnd(nn.Module):
    def __init__(self, d=100, k=3):
        super().__init__()
        self.a = nn.Linear(d, round(d / k))
        self.b = nn.Linear(round(d * 0.3), k)


class Cubic(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.l = nn.ModuleList(nn.Linear(i, i + 1) for i in range(1, n))


class Dense(nn.Module):
    def __init__(self, init=16, growth=8, n=4, bn=4):
        super().__init__()
        self.l = nn.ModuleList()
        c = init
        for i in range(n):
            self.l.append(
                nn.Sequential(
                    nn.BatchNorm2d(c),
                    nn.Conv2d(c, bn * growth, 1, bias=False),
                    nn.Conv2d(bn * growth, growth, 3, padding=1, bias=False),
                )
            )
            c += growth
        self.fc = nn.Linear(c, 10)


class LoRA(nn.Module):
    def __init__(self, d=136, r=8, alpha=16):
        super().__init__()
        self.w = nn.Linear(d, d)
        self.a = nn.Parameter(torch.zeros(r, d))
        self.b = nn.Parameter(torch.zeros(d, r))
        self.s = alpha / r


class Opt(nn.Module):
    def __init__(self, d=32, d_ff: Optional[int] = None, bias: bool = True, n=2):
        super().__init__()
        d_ff = d_ff or 4 * d
        self.l = nn.ModuleList(
            nn.Sequential(nn.Linear(d, d_ff, bias=bias), nn.Linear(d_ff, d, bias=bias))
            for _ in range(n)
        )


class Lists(nn.Module):
    def __init__(self, dims=(32, 64, 128), depths=[2, 2, 3]):
        super().__init__()
        self.s = nn.ModuleList(
            nn.Sequential(*[nn.Linear(c, c) for _ in range(k)]) for c, k in zip(dims, depths)
        )
        self.d = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))


class Einops(nn.Module):
    def __init__(self, image=32, patch=4, d=16, ch=3):
        super().__init__()
        assert image % patch == 0
        n = (image // patch) ** 2
        pd = ch * patch**2
        self.p = nn.Sequential(nn.LayerNorm(pd), nn.Linear(pd, d))
        self.pos = nn.Parameter(torch.randn(1, n + 1, d))


class FromShape(nn.Module):
    def __init__(self, a=12, b=20):
        super().__init__()
        self.x = nn.Linear(a, b)
        self.y = nn.Linear(self.x.weight.shape[0], self.x.weight.size(1))
        self.z = nn.Parameter(torch.cat([torch.zeros(a, b), torch.zeros(a, b)], 1))


class Even(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.a = nn.Linear(d, d // 2 if d % 2 == 0 else d)


class Sum(nn.Module):
    def __init__(self, a=16, b=24, c=8):
        super().__init__()
        self.a = nn.Linear(sum([a, b, c]), math.prod([a, 2]))
        self.l = nn.Linear(abs(a - b), c)


class TF(nn.Module):
    def __init__(self, d=32, h=4, n=2, f=64, v=100):
        super().__init__()
        self.e = nn.Embedding(v, d)
        self.t = nn.Transformer(d, h, n, n, f, batch_first=True)
        self.o = nn.Linear(d, v)


class Every(nn.Module):
    def __init__(self, n=8, d=8, e=3, every=2, first=1):
        super().__init__()
        self.l = nn.ModuleList(
            nn.Linear(d, d * e) if i >= first and i % every == 0 else nn.Linear(d, d)
            for i in range(n)
        )


class Evenly(nn.Module):
    def __init__(self, groups=32, c=64):
        super().__init__()
        g = min(groups, c // 4)
        while c % g != 0:
            g -= 1
        self.n = nn.GroupNorm(g, c)
        self.x = nn.Conv2d(c, c, 1, groups=g)


class Transitions(nn.Module):
    """DenseNet: after each block the width is halved, whatever it is"""

    def __init__(self, growth=12, init=16, first=2, last=3, classes=10):
        super().__init__()
        c, self.stages = init, nn.ModuleList()
        for layers in (first, last):
            for i in range(layers):
                self.stages.append(nn.Conv2d(c + i * growth, growth, 3, bias=False))
            c += layers * growth
            self.stages.append(nn.Conv2d(c, c // 2, 1, bias=False))
            c //= 2
        self.head = nn.Linear(c, classes)


class CrossEmbed(nn.Module):
    """kernels of several sizes, sorted: the largest has what is left of the width"""

    def __init__(self, cin=3, dim=64, small=4, middle=8, large=16):
        super().__init__()
        sizes = sorted([small, middle, large])
        widths = [dim // 2**i for i in range(1, len(sizes))]
        widths.append(dim - sum(widths))
        self.convs = nn.ModuleList(nn.Conv2d(cin, w, k) for w, k in zip(widths, sizes))


class Widening(nn.Module):
    """each layer adds more than the one before; a third of it all is kept"""

    def __init__(self, depth=4, growth=6, init=10, out=7):
        super().__init__()
        c = init
        for i in range(depth):
            c += i * growth
        self.keep = nn.Linear(c // 3, out)
