"""Ray's cluster launcher and autoscaler on machines of the Gantry market."""

from .provider import GantryNodeProvider

__all__ = ["GantryNodeProvider"]
