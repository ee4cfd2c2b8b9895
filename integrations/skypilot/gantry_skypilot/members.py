"""The machines of a cluster, as gantry serve knows them. It does without sky, whose import takes seconds."""

from __future__ import annotations

from typing import NamedTuple

from gantry.record import ALIVE

from . import settings, store


class Member(NamedTuple):
    place: int
    lease: str
    address: str
    status: str

    def host(self, cluster: str) -> str:
        """A name for OpenSSH, from which gantry_skypilot.proxy finds the lease of now."""
        return f"node-{self.place}.{cluster}.gantry"


def members(cluster: str) -> list[Member]:
    """Those that run or start, by their places. A server that does not know a purchase is never taken for one without machines."""
    saved = store.Store(cluster)
    content = saved.read()
    if not content.get("key"):
        return []
    client = settings.client()
    if content["request"]["nodes"] == 1:
        order = content.get("order")
        return [Member(0, x.address, "127.0.0.1", str(x.status)) for x in client.leases() if order and x.order == order and str(x.status) in ALIVE]
    return [Member(m.place, m.lease, m.address, str(m.status)) for m in saved.members(client, content)]
