"""A formula gives the right count for these arguments, but not for others.

A formula claims to hold for every size. The model was built with other values
of its arguments too: multiples, their neighbours, and values beyond the
conditions that its constructor asks for. There the formula is wrong: a term is
missing, or stands for a number that only happens to be equal here, or the model
takes another branch.
"""

EXAMPLE_BAD = '''\
class Net(nn.Module):
    """nparam: 784*width + width + 1290"""  # right for width=128 alone
    def __init__(self, width=128):
        super().__init__()
        self.hidden = nn.Linear(784, width)
        self.out = nn.Linear(width, 10)'''
EXAMPLE_GOOD = '"""nparam: 784*width + width + 10*width + 10"""'
REMEDY = "`nparam-lint formula TARGET` derives a form that holds, and verifies it."
