"""What ray up remembers of a cluster: the purchase's key and Ray's tags."""

from __future__ import annotations

import os
import re
from pathlib import Path

import gantry.record

from .places import Refused


def folder() -> Path:
    return Path(os.environ.get("GANTRY_RAY_DIR") or "~/.local/state/gantry-ray").expanduser()


class Record(gantry.record.Record):
    def __init__(self, cluster: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,31}", cluster):
            raise Refused(f"cluster_name {cluster!r} cannot be used; write 1 to 32 letters, digits and hyphens")
        super().__init__(folder() / f"{cluster}.json", Refused, "end the cluster with gantry cluster down", {"key": "", "tags": {}})
