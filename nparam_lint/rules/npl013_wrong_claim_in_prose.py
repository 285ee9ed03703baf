"""A parameter count that a docstring mentions is wrong.

Sentences like "a ~2K-parameter autoencoder" or "Params: 27M" are claims too.
They are checked if the model can be built, to the precision that they state.
"""

SEVERITY = "warning"
EXAMPLE_BAD = '''\
class Net(nn.Module):
    """A classifier with ~50K parameters."""  # it has 101_770'''
EXAMPLE_GOOD = '''\
class Net(nn.Module):
    """A classifier with ~102K parameters."""'''
REMEDY = "Correct the sentence, or make it a budget: a line `nparam: …` with the exact count."
