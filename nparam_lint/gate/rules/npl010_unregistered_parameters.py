"""The model keeps parameters where PyTorch does not see them.

Modules and parameters in a plain list, tuple or dict, or in any other object
that a module or its class holds, are not registered: `parameters()` leaves
them out, so that no optimiser trains them, `.to()` does not move them,
`state_dict()` does not save them, and no count includes them.
The same holds for a parameter that is only used to compute an attribute:
`nn.Parameter(w).cuda()` and `nn.Parameter(w) * 0.02` are plain tensors.
"""

SEVERITY = "warning"
EXAMPLE_BAD = "self.blocks = [nn.Linear(64, 64) for _ in range(4)]  # 16_640, unseen"
EXAMPLE_GOOD = "self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))"
REMEDY = "Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`."
