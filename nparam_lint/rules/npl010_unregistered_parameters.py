"""The model keeps parameters where PyTorch does not see them.

Modules and parameters in a plain list, tuple or dict, or in any other object
that a module or its class holds, are not registered: `parameters()` leaves
them out, so that no optimiser trains them, `.to()` does not move them,
`state_dict()` does not save them, and no count includes them.
"""

SEVERITY = "warning"
EXAMPLE_BAD = "self.blocks = [nn.Linear(64, 64) for _ in range(4)]  # 16_640, unseen"
EXAMPLE_GOOD = "self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))"
REMEDY = "Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`."
