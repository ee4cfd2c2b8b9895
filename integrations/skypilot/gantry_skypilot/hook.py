"""Registers the cloud in every Python process that imports sky, and does nothing in others.

SkyPilot's own plug-ins are loaded by its server alone, and its command has to know the cloud too. So gantry_skypilot.pth, which
Python reads at its start, imports this module. It must cost nothing: it imports neither sky nor the client.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

#: The name of sky's module with the list of clouds, which others read while sky is imported.
CONSTANTS = "sky.skylet.constants"


class _After(importlib.abc.Loader):
    """Loads a module as its own loader does, and tells gantry_skypilot."""

    def __init__(self, own: importlib.abc.Loader) -> None:
        self._own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        from . import register

        if module.__name__ == CONSTANTS:
            register.name_cloud(module)
        else:
            register.add_cloud()


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name not in ("sky", CONSTANTS):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = _After(spec.loader)
        return spec


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
