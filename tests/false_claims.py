"""Claims of 110 parameters that must not pass, in all ways and at all places."""

from pathlib import Path

from case_books import ProjectBook

NET = """from torch import nn


class Net(nn.Module):
    \"\"\"A net.

    {claim}
    \"\"\"

    def __init__(self, width=10):
        super().__init__()
        self.layer = nn.Linear(width, 20)
"""
# These lists can only grow.
READ = [
    *("nparam : 110", "nparam [total]: 110", "NPARAM: 110", "nparams: 110", "n_param: 110"),
    *("(nparam: 110)", "nparam： 110", "`nparam: 110`", "**nparam: 110**", "**nparam**: 110"),
    *("nparam\u02f8 110", "nparam\u205a 110", "nparam\ufe13 110", "$nparam$: 110"),
    *("+ nparam: 110", "• nparam: 110", "1. nparam: 110", "> nparam: 110", ".. nparam:: 110"),
    *(
        "\ufeffnparam: 110",
        "\u200bnparam: 110",
        "Nparam: 10*width + 10",
        "**nparam:**\n        110",
    ),
]
UNCLEAR = ["nparam = 110", "nparam 110", "A net. nparam: 110", "nparam is 110", "has 110 nparams"]
UNCLEAR += ["nparam{trainable}: 110"]

# Files of which each has one at a place where none is read.
PLACES = ProjectBook(Path(__file__).with_name("discover") / "unread" / "places.txt").cases
