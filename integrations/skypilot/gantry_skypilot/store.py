"""What SkyPilot's processes remember of a cluster: the key of its purchase, and what was asked for."""

from __future__ import annotations

import re
from pathlib import Path

import gantry.record

from .settings import Refused


def folder() -> Path:
    return Path("~/.sky/gantry").expanduser()


class Store(gantry.record.Record):
    def __init__(self, name: str) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}", name):
            raise Refused(f"the name {name!r} cannot be used; choose one of letters, digits and hyphens")
        super().__init__(folder() / f"{name}.json", Refused, "see what runs with gantry leases")
