"""OpenSSH's way to a machine of a cluster: python -m gantry_skypilot.proxy node-0.CLUSTER.gantry"""

from __future__ import annotations

import os
import re
import sys

import gantry
import httpx

from . import settings
from .members import members


def lease(host: str) -> str:
    """The lease that has the place now."""
    found = re.fullmatch(r"node-(\d+)\.([a-z0-9-]+)\.gantry", host)
    if not found:
        raise settings.Refused(f"{host} is not a machine of a cluster, whose name is like node-0.CLUSTER.gantry")
    for m in members(found[2]):
        if m.place == int(found[1]):
            return m.lease
    raise settings.Refused(f"{host} does not run any more; see sky status --refresh")


def main() -> None:
    try:
        command = settings.proxy(lease(sys.argv[1]))
        os.execvp(command[0], command)
    except (ValueError, OSError, gantry.Error, httpx.HTTPError) as e:
        sys.exit(f"gantry-skypilot: {e}")


if __name__ == "__main__":
    main()
