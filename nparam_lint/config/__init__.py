"""The settings of a project: what they are (`settings`), what a key may hold (`keys`), where they
come from (`load`), and where a key stands in its file (`positions`)."""
