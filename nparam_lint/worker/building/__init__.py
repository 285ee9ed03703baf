"""Imports what defines a model and builds it, on one device after the other."""
