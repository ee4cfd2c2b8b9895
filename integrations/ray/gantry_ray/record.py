"""What ray up remembers of a cluster, in a file that its user alone can read: the purchase's key and Ray's tags."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .places import Refused


def folder() -> Path:
    return Path(os.environ.get("GANTRY_RAY_DIR") or "~/.local/state/gantry-ray").expanduser()


class Record:
    """A file with a lock: two commands of Ray may run at once."""

    def __init__(self, cluster: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,31}", cluster):
            raise Refused(f"cluster_name {cluster!r} cannot be used; write 1 to 32 letters, digits and hyphens")
        self.path = folder() / f"{cluster}.json"

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
            content = json.loads(self.path.read_text())
        except FileNotFoundError:
            content = {}
        except ValueError as e:
            raise Refused(f"{self.path} cannot be read: {e}; end the cluster with gantry cluster down, and remove the file") from e
        return {"key": "", "tags": {}, **content}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
