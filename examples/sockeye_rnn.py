"""The recurrent translation model of Sockeye, with its parameters under their own names.

A README lists the 34 parameters of one trained model, 79,638,799 in all, and says how each shape
follows from the hyper-parameters. It then sets out to write the closed form and stops: the section
is empty, between two markers of a merge conflict, and two widths are left as ``?``. Both are given
below: the closed form in the class, the widths in the comments of its constructor.
"""

from typing import Literal

import torch
from torch import Tensor, nn

GATES = {"lstm": 4, "gru": 3}
STATES = {"lstm": 2, "gru": 1}
State = tuple[Tensor, ...]


class Cell(nn.Module):
    """One LSTM or GRU step as MXNet stores it: two layers, each with a bias, for all gates at once.

    nparam(1024, 512): 3_149_824
    nparam(1024, 512): gates*hidden*(inputs + hidden + 2)
    nparam(1024, 512, "gru"): 2_362_368
    nparam(1024, 512, "gru"): gates*hidden*(inputs + hidden + 2)
    """

    def __init__(self, inputs: int, hidden: int, cell_type: str = "lstm") -> None:
        super().__init__()
        self.gates = GATES[cell_type]
        self.states = STATES[cell_type]
        self.i2h = nn.Linear(inputs, self.gates * hidden)
        self.h2h = nn.Linear(hidden, self.gates * hidden)

    def begin(self, x: Tensor) -> State:
        """Zero states for one step's input ``x``."""
        return tuple(x.new_zeros(len(x), self.h2h.in_features) for _ in range(self.states))

    def forward(self, x: Tensor, state: State) -> State:
        new, old = self.i2h(x), self.h2h(state[0])
        if self.states == 2:
            write, keep, candidate, show = (new + old).chunk(4, dim=-1)
            cell = keep.sigmoid() * state[1] + write.sigmoid() * candidate.tanh()
            return show.sigmoid() * cell.tanh(), cell
        (reset_new, update_new, new), (reset_old, update_old, old) = (
            part.chunk(3, dim=-1) for part in (new, old)
        )
        update = (update_new + update_old).sigmoid()
        candidate = torch.tanh(new + (reset_new + reset_old).sigmoid() * old)
        return (update * state[0] + (1 - update) * candidate,)


class CellStack(nn.ModuleDict):
    """Cells on top of each other, ``l0`` at the bottom.

    nparam([512, 512], 512): 4_202_496
    nparam([512, 512], 512): 8*hidden*(hidden + 514)
    """

    def __init__(self, inputs: list[int], hidden: int, cell_type: str = "lstm") -> None:
        super().__init__({f"l{i}": Cell(size, hidden, cell_type) for i, size in enumerate(inputs)})

    def step(self, x: Tensor, states: list[State]) -> list[State]:
        new: list[State] = []
        for cell, state in zip(self.values(), states, strict=True):
            new.append(cell(x, state))
            x = new[-1][0]
        return new

    def forward(self, x: Tensor) -> Tensor:
        """All steps of (batch, n, inputs), from zero states: (batch, n, hidden)."""
        if not self:
            return x
        states = [cell.begin(x[:, 0]) for cell in self.values()]
        outputs = []
        for step in x.unbind(dim=1):
            states = self.step(step, states)
            outputs.append(states[-1][0])
        return torch.stack(outputs, dim=1)


class SockeyeRNN(nn.Module):
    """Sockeye's RNN encoder and decoder, with dot attention (which has nothing to learn).

    (batch, m) source and (batch, n) target tokens become (batch, n, target_vocab) logits. Every
    parameter has the name that Sockeye gives it, with a dot for some of its underscores:
    ``decoder_rnn.l0.i2h.weight`` is ``decoder_rnn_l0_i2h_weight``. As in Sockeye, pairs such as
    ``num_layers`` are (encoder, decoder).

    nparam: 79_638_799
    nparam[encoder_birnn_*]: 788_480
    nparam[encoder_rnn]: 2_101_248
    nparam[decoder_rnn]: 5_251_072
    nparam[decoder_rnn_enc2decinit]: 1_050_624
    nparam[decoder_rnn_hidden]: 524_800
    nparam[source_embed]: 25_297_920
    nparam[target_embed]: 21_896_704
    nparam[target_output]: 21_939_471

    Other cells, depths and widths, by the README's rules for every shape:

    nparam(cell_type="gru"): 76_881_167
    nparam(num_layers=(1, 1)): 74_910_991
    nparam(num_layers=(4, 4)): 89_094_415
    nparam(num_layers=(1, 4)): 82_790_671
    nparam(cell_type="gru", num_layers=(1, 1)): 73_466_639
    nparam(cell_type="gru", num_layers=(4, 4)): 83_710_223
    nparam(num_embed=(256, 256)): 54_992_911
    nparam(rnn_num_hidden=1024): 128_817_423

    The closed form that the README announces, in its letters: sn, tn layers and se, te embedding
    sizes of source (encoder) and target (decoder), h hidden units; besides them the vocabularies
    sv and tv, and the cell's G gates and S states (4 and 2 for LSTM, 3 and 1 for GRU).

    nparam: sv*se + tv*(te+h+1) + h*(2*h+1) + S*tn*h*(h+1) + G*h*(se+te+h//2+2+2*(h+1)*(sn+tn-1))
    nparam[decoder_rnn_enc2decinit.*]: h*(h + 1)
    nparam[decoder_rnn_hidden]: h*(2*h + 1)
    nparam[encoder_birnn_*]: G*(h//2)*(se + h//2 + 2)
    nparam[encoder_rnn.*]: 2*G*h*(h + 1)
    nparam[decoder_rnn]: G*h*(te + 2*h + 2 + 2*(tn - 1)*(h + 1))
    """

    def __init__(
        self,
        source_vocab: int = 49_410,
        target_vocab: int = 42_767,
        cell_type: str = "lstm",
        num_layers: tuple[int, int] = (2, 2),
        num_embed: tuple[int, int] = (512, 512),
        rnn_num_hidden: int = 512,
    ) -> None:
        if rnn_num_hidden % 2:
            raise ValueError("rnn_num_hidden is shared by two directions, so it must be even")
        super().__init__()
        self.sv, self.tv = source_vocab, target_vocab
        self.sn, self.tn = num_layers
        self.se, self.te = num_embed
        self.G, self.S = GATES[cell_type], STATES[cell_type]
        self.h = h = rnn_num_hidden

        self.source_embed = nn.Embedding(self.sv, self.se)
        # The README's second "?": what the two half-width RNNs read is the source embedding, se.
        self.encoder_birnn_forward = CellStack([self.se], h // 2, cell_type)
        self.encoder_birnn_reverse = CellStack([self.se], h // 2, cell_type)
        self.encoder_rnn = CellStack([h] * (self.sn - 1), h, cell_type)

        self.target_embed = nn.Embedding(self.tv, self.te)
        # The README's first "?": the previous attention output is fed in beside the word, te + h.
        self.decoder_rnn = CellStack([self.te + h] + [h] * (self.tn - 1), h, cell_type)
        self.decoder_rnn_enc2decinit = nn.ModuleList(
            nn.Linear(h, h) for _ in range(self.S * self.tn)
        )
        self.decoder_rnn_hidden = nn.Linear(2 * h, h)
        self.target_output = nn.Linear(h, self.tv)

    def encode(self, source: Tensor) -> Tensor:
        x = self.source_embed(source)
        both = [self.encoder_birnn_forward(x), self.encoder_birnn_reverse(x.flip(1)).flip(1)]
        return self.encoder_rnn(torch.cat(both, dim=-1))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory = self.encode(source)
        begin = [layer(memory[:, -1]).tanh() for layer in self.decoder_rnn_enc2decinit]
        states = [tuple(begin[i : i + self.S]) for i in range(0, len(begin), self.S)]
        attended = torch.zeros_like(memory[:, -1])
        outputs = []
        for word in self.target_embed(target).unbind(dim=1):
            states = self.decoder_rnn.step(torch.cat([word, attended], dim=-1), states)
            query = states[-1][0]
            weights = (memory @ query[:, :, None]).softmax(dim=1)
            context = (weights * memory).sum(dim=1)
            attended = self.decoder_rnn_hidden(torch.cat([query, context], dim=-1)).tanh()
            outputs.append(attended)
        return self.target_output(torch.stack(outputs, dim=1))


def sockeye_rnn(
    sv: int = 49_410,
    tv: int = 42_767,
    cell_type: Literal["lstm", "gru"] = "lstm",
    sn: int = 2,
    tn: int = 2,
    se: int = 512,
    te: int = 512,
    h: int = 512,
) -> SockeyeRNN:
    """The same model, every number an argument of its own, in the README's letters.

    nparam: 79_638_799
    nparam(cell_type="gru"): 76_881_167

    The closed form for one kind of cell:

    nparam(cell_type="lstm"): h*(2*h*(4*sn+5*tn-2)+tv+8*sn+10*tn+4*(se+te)+1)+tv*(te+1)+sv*se
    """
    return SockeyeRNN(sv, tv, cell_type, (sn, tn), (se, te), h)
