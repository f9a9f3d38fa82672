"""Runs the jobs of a Hydra sweep under rankinit. See sweep, job and rank, in this order."""

__version__ = "0.1.0"
