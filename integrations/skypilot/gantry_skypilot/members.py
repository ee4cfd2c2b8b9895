"""The machines of a cluster, as gantry serve knows them. It does without sky, whose import takes seconds."""

from __future__ import annotations

from typing import NamedTuple

import gantry

from . import settings, store
from .settings import Refused

#: States of a lease that runs, or may come to.
ALIVE = ("awarded", "running")


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
    content = store.Store(cluster).read()
    if not content.get("key"):
        return []
    client = settings.client()
    if content["request"]["nodes"] == 1:
        order = content.get("order")
        return [Member(0, x.address, "127.0.0.1", str(x.status)) for x in client.leases() if order and x.order == order and str(x.status) in ALIVE]
    try:
        now = client.cluster(content["key"])
    except gantry.Error as e:
        if e.status != 404:
            raise
        if content.get("bought"):
            raise Refused(
                f"gantry serve does not know the cluster {content['key']}, which was bought; ask the server that bought it, or see gantry leases "
                f"and remove {store.Store(cluster).path}"
            ) from e
        return []  # the purchase came to nothing
    return [Member(m.place, m.lease, m.address, str(m.status)) for m in now.members if str(m.status) in ALIVE]
