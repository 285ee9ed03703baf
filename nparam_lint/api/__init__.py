"""What `nparam_lint` offers to Python, loaded when it is first used (`nparam_lint.__getattr__`); and
the schemas of the config and the reports."""
