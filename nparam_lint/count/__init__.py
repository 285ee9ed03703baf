"""Builds and counts models: finds the interpreter, runs the worker in it, reads the answers."""
