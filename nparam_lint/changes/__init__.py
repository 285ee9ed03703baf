"""What changed between two states of a project.

`states` opens the project at a revision. `matching` tells what is the same in both. What became of
models, modules and parameters is said by `model_changes`, `module_changes`, `parameter_changes`,
which read and run nothing. `revision_diff`, `causes` and `history` do what the commands ask for.
"""
