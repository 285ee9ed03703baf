"""What `nparam_lint` offers to Python, loaded when it is first used, and the schemas of the config
and the reports."""
