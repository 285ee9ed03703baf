"""A parameter count that a text states is wrong.

Sentences like "a ~2K-parameter autoencoder" or "Params: 27M" are claims, and
so are columns of tables, keys of configs, comments, model cards, checkpoints.
They are checked if one model is named beside them and can be built, to the
precision that they state. `nparam-lint claims` lists them all.
"""

SEVERITY = "warning"
EXAMPLE_BAD = '''\
class Net(nn.Module):
    """A classifier with ~50K parameters."""  # it has 101_770'''
EXAMPLE_GOOD = '''\
class Net(nn.Module):
    """A classifier with ~102K parameters."""'''
REMEDY = "Correct the number, or make it a budget: a line `nparam: …` with the exact count."
