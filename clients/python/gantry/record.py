"""What a program remembers of a cluster that it buys: JSON in a file with a lock, which its user alone can read. Not for Windows."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ._sync.client import Client
from .common import Error

#: States of a lease that runs, or may come to.
ALIVE = ("awarded", "running")


def counts(free: int) -> list[int]:
    """How many of a machine's free GPUs are offered together to launchers that know fixed sizes of machines: 1, 2, 4 and so on, and all."""
    return sorted({2**i for i in range(free.bit_length()) if 2**i <= free} | {free})


class Record:
    """Two commands may run at once: each of them waits for the file."""

    def __init__(self, path: Path, refused: Callable[[str], Exception], advice: str, empty: Mapping[str, Any] | None = None) -> None:
        """refused makes the errors. advice is what to do before a file that cannot be read is removed; empty has what a file lacks."""
        self.path, self._refused, self._advice, self._empty = path, refused, advice, dict(empty or {})

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

    def members(self, client: Client, content: Mapping[str, Any]) -> list[Any]:
        """The members of the cluster with the content's key that run or start, by their places. A server that does not know a cluster
        that was bought is never taken for one without machines."""
        try:
            now = client.cluster(content["key"])
        except Error as e:
            if e.status != 404:
                raise
            if content.get("bought"):
                raise self._refused(
                    f"gantry serve does not know the cluster {content['key']}, which was bought; ask the server that bought it, or see gantry leases "
                    f"and remove {self.path}"
                ) from e
            return []  # the purchase came to nothing
        return [m for m in now.members if str(m.status) in ALIVE]

    def _load(self) -> dict[str, Any]:
        content: dict[str, Any] = {}
        try:
            content = json.loads(self.path.read_text())
        except FileNotFoundError:
            pass
        except ValueError as e:
            raise self._refused(f"{self.path} cannot be read: {e}; {self._advice}, and remove the file") from e
        return {**copy.deepcopy(self._empty), **content}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.path.with_suffix(".lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
