"""The model has different parameters on different devices.

The model was built without memory (on the meta device) and again on a real
device; or, where its constructor asks whether there is a GPU, with the answers
of a machine that has one. The name, shape or dtype of some parameter differs,
so the architecture depends on where it is built: the count on one device says
nothing about the other.
"""

EXAMPLE_BAD = """\
width = 256 if torch.cuda.is_available() else 64
self.fc = nn.Linear(10, width)"""
EXAMPLE_GOOD = """\
def __init__(self, width=256):
    self.fc = nn.Linear(10, width)"""
REMEDY = "Make the choice an argument, and declare a budget for each of its values."
