"""Adds the backend in every Python process that imports dstack, and does nothing in others.

dstack's plug-ins are loaded when its server has read its configuration, and the configuration and the command have to know the
backend before. So gantry_dstack.pth, which Python reads at its start, imports this module. It must cost nothing: it imports
neither dstack nor the client.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

#: Modules of dstack that are changed as soon as they are loaded, before others read them.
CHANGED = ("dstack._internal.core.models.backends.base", "dstack._internal.core.backends.models", "dstack._internal.core.backends.configurators")


class _After(importlib.abc.Loader):
    """Loads a module as its own loader does, and changes it."""

    def __init__(self, own: importlib.abc.Loader) -> None:
        self._own = own

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._own.exec_module(module)
        from . import register

        register.change(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name not in CHANGED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = _After(spec.loader)
        return spec


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
