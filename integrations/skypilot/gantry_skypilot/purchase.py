"""Buying the machines of a cluster, and ending them. What was begun is in a file before money moves, so that it can be ended."""

from __future__ import annotations

import time
import uuid
from typing import Any

import gantry
from gantry.common import answer
from gantry.core.api.default import create_cluster, create_order, end_cluster
from gantry.core.models import ClusterRequest, MachineClusterState, OrderRequest

from . import settings, store
from .members import members
from .settings import Refused

#: How long a purchase, or the end of its leases, is waited for: that of a large image takes minutes.
PATIENCE = 1800.0


def buy(cluster: str, request: dict[str, Any]) -> None:
    """Returns when all machines run. It continues an interrupted purchase, and never buys twice."""
    with store.Store(cluster).change() as content:
        if content.get("key") and not content.get("bought"):
            if content["request"] != request:
                raise Refused(f"an earlier purchase for {cluster} was cut off, and asked for other machines; run sky down first")
        else:
            content.clear()
            content.update(key=f"sky-{cluster}-{uuid.uuid4().hex[:8]}", request=request)
    _finish(cluster)


def _finish(cluster: str) -> None:
    saved = store.Store(cluster)
    content, late = saved.read(), time.monotonic() + PATIENCE
    client, key, request = settings.client(), content["key"], content["request"]
    try:
        while not _ask(client, saved, key, request):
            if time.monotonic() > late:
                raise Refused(f"the machines of {cluster} do not run after {PATIENCE / 60:.0f} minutes; see gantry why {saved.read().get('order', key)}")
    except gantry.Error as e:
        if 400 <= e.status < 500:
            with saved.change() as left:
                left.clear()  # refused, or come to nothing
        raise


def _ask(client: gantry.Client, saved: store.Store, key: str, request: dict[str, Any]) -> bool:
    """Whether all machines run. The server answers after 25 seconds at the latest."""
    if request["nodes"] == 1:
        bought = answer(create_order.sync(client=client.core, body=OrderRequest.from_dict(request), idempotency_key=key))
        order, runs = bought.order, bought.phase == "bought"
    else:
        now = answer(create_cluster.sync(client=client.core, body=ClusterRequest.from_dict(request), idempotency_key=key))
        if now.state == MachineClusterState.FAILED:
            raise gantry.Error(f"no machines were bought: {now.failed}", status=409)
        order, runs = now.order, now.state not in (MachineClusterState.BUYING, MachineClusterState.STARTING)
    if order or runs:
        with saved.change() as content:
            content.update(order=str(order or ""), bought=runs)
    return runs


def end(cluster: str) -> None:
    """Ends all leases. A purchase of one machine that was cut off is first brought to its end: its order could be awarded later."""
    saved = store.Store(cluster)
    content = saved.read()
    if not content.get("key"):
        return
    client, late = settings.client(), time.monotonic() + PATIENCE
    if content["request"]["nodes"] == 1:
        try:
            if not content.get("bought"):
                _finish(cluster)
        except gantry.Error:
            if saved.read().get("key"):
                raise
            return
        for m in members(cluster):
            client.stop(m.lease)
    elif content.get("bought") or _known(client, content["key"]):
        while left := answer(end_cluster.sync(content["key"], client=client.core)).left:
            if time.monotonic() > late:
                raise Refused(f"leases are not ended: {'; '.join(left)}; end them with gantry cluster down {content['key']}")
    with saved.change() as now:
        now.clear()


def _known(client: gantry.Client, key: str) -> bool:
    try:
        client.cluster(key)
    except gantry.Error as e:
        if e.status == 404:
            return False
        raise
    return True
