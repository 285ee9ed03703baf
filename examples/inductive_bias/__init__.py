"""Four language models at equal parameter budgets: LSTM, Transformer, and each with a stack.

They come from a notebook that compares inductive biases: which architecture learns what with the
same number of parameters. It printed eighteen counts, all with 64 tokens and, as intended, few
layers. Every count is reproduced here; each docstring says what the notebook's formulas and layer
strings got wrong.
"""

from .attention import StackTransformer, TransformerLM
from .recurrent import LSTMLanguageModel, StackRNN

__all__ = ["LSTMLanguageModel", "StackRNN", "StackTransformer", "TransformerLM"]
