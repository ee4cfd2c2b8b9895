"""The settings of the user, in ~/.sky/gantry.yaml. They are read anew each time: SkyPilot's server runs for days."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import gantry
import yaml
from gantry.core.models import OrderRequest

#: Fields of an order that follow from the task.
OWN = ("gpu", "count", "nodes", "region", "command", "entrypoint", "runToCompletion", "sshKeys", "type", "redundancy")

FIELDS = ("server", "token_file", "session", "gantry", "order")


class Refused(ValueError):
    """What the cloud does not do, and what to do instead."""


def path() -> Path:
    return Path(os.environ.get("GANTRY_SKYPILOT_CONFIG") or "~/.sky/gantry.yaml").expanduser()


def read() -> dict[str, Any]:
    try:
        found = yaml.safe_load(path().read_text()) or {}
    except FileNotFoundError:
        raise Refused(f"there is no {path()}; write one, as docs/operate/skypilot.md shows") from None
    except yaml.YAMLError as e:
        raise Refused(f"{path()} is not YAML: {e}") from e
    if not isinstance(found, dict) or not isinstance(found.get("order") or {}, dict):
        raise Refused(f"{path()} has other content than fields with values; see docs/operate/skypilot.md")
    if unknown := sorted(set(found) - set(FIELDS)):
        raise Refused(f"{path()} has {', '.join(unknown)}, which is not a setting; there are {', '.join(FIELDS)}")
    order = found["order"] = found.get("order") or {}
    if own := sorted(set(order) & set(OWN)):
        raise Refused(f"order in {path()} has {', '.join(own)}, which follows from the task; leave it out")
    if unknown := sorted(set(order) - set(OrderRequest.from_dict({"gpu": "", "seconds": 1, **order}).to_dict())):
        raise Refused(f"order in {path()} has {', '.join(unknown)}, which an order does not have; see OrderRequest in /openapi.json of gantry serve")
    if not order.get("seconds") and not order.get("untilStopped"):
        raise Refused(f"order in {path()} lacks seconds; write for how long machines are paid at most, or untilStopped and a budget")
    if order.get("untilStopped"):
        if not order.get("budget"):
            raise Refused(f"order in {path()} has untilStopped without a budget; write the most USDC that it may cost")
        order.setdefault("seconds", 3600)
    return found


def client() -> gantry.Client:
    """The server that is named, or that of GANTRY_SERVER and GANTRY_TOKEN."""
    found, token = read(), None
    if found.get("token_file"):
        try:
            token = Path(found["token_file"]).expanduser().read_text().strip()
        except OSError as e:
            raise Refused(f"the token of gantry serve cannot be read: {e}; mend token_file in {path()}") from e
    return gantry.Client(found.get("server"), token)


def proxy(lease: str) -> list[str]:
    """The command that connects OpenSSH with a container."""
    found = read()
    words = [*shlex.split(found.get("gantry", "gantry")), "ssh-proxy"]
    if session := found.get("session"):
        words += ["--session", str(Path(session).expanduser())]
    return [*words, lease]
