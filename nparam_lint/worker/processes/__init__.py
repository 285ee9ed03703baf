"""The processes of a run: the server, its groups and their builders, and who watches them."""
