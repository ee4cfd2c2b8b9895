"""Files that the processes of SkyPilot share, each with a lock. Only their user can read them."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .settings import Refused


def folder() -> Path:
    return Path("~/.sky/gantry").expanduser()


class Store:
    def __init__(self, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}", name):
            raise Refused(f"the name {name!r} cannot be used; choose one of letters, digits and hyphens")
        self.path = folder() / f"{name}.json"

    def read(self) -> dict[str, Any]:
        with self._locked():
            return self._load()

    @contextlib.contextmanager
    def change(self) -> Iterator[dict[str, Any]]:
        """The content, which is written when the block ends."""
        with self._locked():
            content = self._load()
            yield content
            new = self.path.with_suffix(".new")
            new.touch(mode=0o600)
            with new.open("w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)

    def _load(self) -> dict[str, Any]:
        try:
            return json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as e:
            raise Refused(f"{self.path} cannot be read: {e}; see what runs with gantry leases, and remove the file") from e

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
