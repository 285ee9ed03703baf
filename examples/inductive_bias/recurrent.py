"""The recurrent half of the comparison: an LSTM, and an LSTM that controls a stack."""

import torch
from torch import Tensor, nn

from . import stack as superposition

State = list[tuple[Tensor, Tensor]]


class LSTMLayer(nn.Module):
    """One LSTM layer, one step at a time, with a single bias vector for the four gates.

    ``torch.nn.LSTM`` keeps two bias vectors that are only ever added to each other; one is enough.

    nparam(32, 32): 8_320
    nparam(32, 64): 24_832
    nparam(52, 32): 10_880
    nparam(32, 64): 4*hidden_units*(input_size + hidden_units + 1)
    """

    def __init__(self, input_size: int, hidden_units: int) -> None:
        super().__init__()
        self.input_to_gates = nn.Linear(input_size, 4 * hidden_units)
        self.hidden_to_gates = nn.Linear(hidden_units, 4 * hidden_units, bias=False)

    def forward(self, x: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        hidden, cell = state
        gates = self.input_to_gates(x) + self.hidden_to_gates(hidden)
        keep, write, show, candidate = gates.chunk(4, dim=-1)
        cell = keep.sigmoid() * cell + write.sigmoid() * candidate.tanh()
        return show.sigmoid() * cell.tanh(), cell


class DeepLSTM(nn.Module):
    """LSTM layers on top of each other, with a learned initial hidden state for each.

    The initial hidden state is tanh of a parameter; the memory cell starts at zero.

    nparam(32, 32, 3): 25_056
    nparam(52, 32, 3): 27_616
    nparam(32, 32, 3)[layers.*]: 8_320
    nparam(52, 32, 3): h*(4*input_size - 4*h + num_layers*(8*h + 5))
    """

    def __init__(self, input_size: int, hidden_units: int, num_layers: int) -> None:
        super().__init__()
        self.h = hidden_units
        sizes = [input_size] + [hidden_units] * (num_layers - 1)
        self.layers = nn.ModuleList(LSTMLayer(size, hidden_units) for size in sizes)
        self.initial_hidden = nn.Parameter(torch.zeros(num_layers, hidden_units))

    def initial_state(self, batch_size: int) -> State:
        hidden = self.initial_hidden.tanh()[:, None].expand(-1, batch_size, -1)
        return [(h, torch.zeros_like(h)) for h in hidden]

    def forward(self, x: Tensor, state: State) -> State:
        """One step: ``x`` is (batch, input_size). The output is the last layer's hidden state."""
        new: State = []
        for layer, old in zip(self.layers, state, strict=True):
            new.append(layer(x, old))
            x = new[-1][0]
        return new


class LSTMLanguageModel(nn.Module):
    """An LSTM language model whose output layer is its embedding, transposed.

    (batch, n) tokens become (batch, n + 1, vocab_size) logits: the learned initial state already
    predicts the first token.

    The counts that the notebook printed for hidden sizes 32, 64 and 128:

    nparam: 27_104
    nparam(hidden_units=64): 103_360
    nparam(hidden_units=128): 403_328
    nparam: vocab_size*hidden_units + num_layers*(8*hidden_units**2 + 5*hidden_units)

    The notebook's formula says 28,832 for the first. It gives the output layer a matrix and a bias
    of its own (the model ties the one and leaves out the other, -h*v - v) and the LSTM no bias at
    all (it has one vector of 4*h in every layer).
    """

    def __init__(self, vocab_size: int = 64, num_layers: int = 3, hidden_units: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_units)
        self.rnn = DeepLSTM(hidden_units, hidden_units, num_layers)
        self.output = nn.Linear(hidden_units, vocab_size, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        state = self.rnn.initial_state(tokens.shape[0])
        outputs = [state[-1][0]]
        for x in self.embedding(tokens).unbind(dim=1):
            state = self.rnn(x, state)
            outputs.append(state[-1][0])
        return self.output(torch.stack(outputs, dim=1))


class StackRNN(nn.Module):
    """An LSTM language model that controls a superposition stack.

    After each step the LSTM's output decides the stack actions and the vector to push; before each
    step what lies on top of the stack joins the input. Shapes as in ``LSTMLanguageModel``.

    The counts that the notebook printed, for h = 32 and 64 hidden units and three stack sizes:

    nparam: 30_423
    nparam(stack_size=32): 32_355
    nparam(stack_size=64): 37_507
    nparam(hidden_units=64): 109_975
    nparam(hidden_units=64, stack_size=32): 113_827
    nparam(hidden_units=64, stack_size=64): 124_099
    nparam: h*(vocab_size + num_layers*(8*h + 5) + 5*stack_size + 3) + stack_size + 3
    nparam[actions]: 3*hidden_units + 3
    nparam[pushed]: (hidden_units + 1)*stack_size

    The notebook's formula says 29,591 for the first. It starts from the wrong LSTM formula and
    forgets that the stack's top makes the first layer's input wider: 4*h*stack_size weights more.
    """

    def __init__(
        self,
        vocab_size: int = 64,
        num_layers: int = 3,
        hidden_units: int = 32,
        stack_size: int = 20,
    ) -> None:
        super().__init__()
        self.h = hidden_units
        self.stack_size = stack_size
        self.embedding = nn.Embedding(vocab_size, hidden_units)
        self.controller = DeepLSTM(hidden_units + stack_size, hidden_units, num_layers)
        self.actions = nn.Linear(hidden_units, 3)
        self.pushed = nn.Linear(hidden_units, stack_size)
        self.output = nn.Linear(hidden_units, vocab_size, bias=False)
        self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.embedding(tokens)
        state = self.controller.initial_state(tokens.shape[0])
        stack = superposition.empty_stack(embedded, self.stack_size)
        outputs = [state[-1][0]]
        for x in embedded.unbind(dim=1):
            state = self.controller(torch.cat([x, superposition.read(stack)], dim=-1), state)
            hidden = state[-1][0]
            actions = self.actions(hidden).softmax(dim=-1)
            stack = superposition.update(stack, actions, self.pushed(hidden).sigmoid())
            outputs.append(hidden)
        return self.output(torch.stack(outputs, dim=1))
