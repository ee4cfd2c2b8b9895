"""What is remembered of each purchase, in a file for each job: before money moves, until its lease is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import gantry.record
from dstack._internal.core.errors import ComputeError
from dstack._internal.server import settings


def folder() -> Path:
    return Path(settings.SERVER_DIR_PATH) / "gantry"


class Store(gantry.record.Record):
    """Its name is that of dstack's submission of a job, of which there is one for each try."""

    def __init__(self, name: str) -> None:
        if not re.fullmatch(r"[0-9a-f]{32}", name):
            raise ComputeError(f"{name!r} is not an instance of this backend")
        super().__init__(folder() / f"{name}.json", ComputeError, "see what runs with gantry leases")
        self.name = name

    def remove(self) -> None:
        """The purchase is over. Its name does not come again."""
        for path in (self.path, self.path.with_suffix(".lock")):
            path.unlink(missing_ok=True)


def all_of() -> Iterator[Store]:
    for path in sorted(folder().glob("*.json")):
        if re.fullmatch(r"[0-9a-f]{32}", path.stem):
            yield Store(path.stem)
