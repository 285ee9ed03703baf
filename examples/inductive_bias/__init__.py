"""Four language models at equal parameter budgets: LSTM, Transformer, and each with a stack.

They stand in a notebook that compares inductive biases: which architecture learns what, when every
one may spend the same number of parameters. It printed eighteen counts, all with 64 tokens and, so
it was meant, with few layers. Every count is reproduced here; what the notebook's own formulas and
layer strings got wrong is said at each model.
"""

from .attention import StackTransformer, TransformerLM
from .recurrent import LSTMLanguageModel, StackRNN

__all__ = ["LSTMLanguageModel", "StackRNN", "StackTransformer", "TransformerLM"]
