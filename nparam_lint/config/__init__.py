"""The settings of a project: its config file, the environment, the command line."""
