"""The process that built the model died, or ran out of time or memory.

Models are built in a separate process with a time and a memory limit. It ended
without an answer: the code called `exit`, crashed, looped, or needed more than
the limits allow. Only this model is lost; the others were counted.
"""

from nparam_lint.rules.rule import Rule

RULE = Rule(
    __name__,
    __doc__,
    severity="error",
    example_bad="""\
def __init__(self):
    super().__init__()
    if not torch.cuda.is_available():
        sys.exit("needs a GPU")""",
    example_good="""\
def __init__(self):
    super().__init__()
    # … build the layers; look for the GPU where it is used""",
    remedy="If the model is only slow or large, raise `timeout` (seconds) or the memory limit.",
)
