"""The process that built the model died, or ran out of time or memory.

Models are built in a separate process with a time limit and a memory limit. The
process ended without a result: the code called `exit`, crashed, looped, or
needed more than the limits allow. Only this model is lost; the others were
counted.
"""

EXAMPLE_BAD = """\
def __init__(self):
    super().__init__()
    while not os.path.exists("weights.pt"):
        time.sleep(1)"""
EXAMPLE_GOOD = """\
def __init__(self):
    super().__init__()
    # … build the layers; wait for the weights where they are loaded"""
REMEDY = (
    "If the model is only slow or large: `--timeout SECONDS`, `--memory SIZE`, or the same keys in "
    "the config. If it crashed or ended its process: build it in Python alone, and see where."
)
