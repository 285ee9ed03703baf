"""What a run is told, what it may use, and which projects a repository has."""
