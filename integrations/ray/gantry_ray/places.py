"""What both sides share: the ports of Ray, and the mark of a machine that Ray gives back."""

from __future__ import annotations

import click

HEAD = "node-0"
PORT = 6379

# Ports that Ray would choose itself could be another program's.
START = (
    "--node-manager-port=6380 --object-manager-port=6381 --runtime-env-agent-port=6382 --dashboard-agent-grpc-port=6383 "
    "--dashboard-agent-listen-port=6384 --metrics-export-port=6385 --min-worker-port=20000 --max-worker-port=29499"
)

#: The head's key-value store has this key for each machine that the autoscaler gives back. member.py reads it.
NAMESPACE = b"gantry"


class Refused(click.ClickException, ValueError):
    """What the provider does not do, and what to do instead. Ray's commands print it without a traceback."""


def mark(place: str) -> bytes:
    return b"ended:" + place.encode()


def matches(tags: dict[str, str], filters: dict[str, str]) -> bool:
    return all(tags.get(name) == value for name, value in filters.items())
