"""Buying the machine of a job, and ending it. What was begun is in a file before money moves, so that it is never bought twice and can be ended."""

from __future__ import annotations

import time
import uuid
from typing import Any

import gantry
import httpx
from dstack._internal.core.errors import ComputeError, NoCapacityError, NotYetTerminated, ProvisioningError
from gantry.common import answer
from gantry.core.api.default import create_order
from gantry.core.models import Lease, OrderRequest
from gantry.record import ALIVE

from .store import Store

#: How long a machine is waited for, seconds: that it is awarded, not that its image is there.
PATIENCE = 300.0

#: How long a server that does not answer is asked again.
AWAY = 20.0

#: Answers by which a purchase has come to nothing. Others, such as those of a token that has ended, say nothing of it.
REFUSED = (400, 404, 409, 413, 422)


def buy(client: gantry.Client, saved: Store, server: str, request: dict[str, Any], offer: dict[str, Any]) -> dict[str, Any]:
    """Returns what is remembered of the purchase as soon as a machine is awarded. An earlier call for the same job that was cut off is brought to
    its end first, with the offer that it was for: it may have been paid."""
    content = saved.read()
    if content.get("failed"):
        end(client, saved, server)
    elif content.get("key"):
        _of(content, server)
        try:
            return _finish(client, saved)
        except NoCapacityError:
            pass  # the earlier purchase came to nothing
    with saved.change() as content:
        content.clear()
        content.update(key=f"dstack-{saved.name}-{uuid.uuid4().hex[:8]}", server=server, request=request, offer=offer, at=time.time())
    return _finish(client, saved)


def _finish(client: gantry.Client, saved: Store) -> dict[str, Any]:
    began = heard = time.monotonic()
    content = saved.read()
    while True:
        try:
            order, leases = _ask(client, content)
            heard = time.monotonic()
            if order:
                with saved.change() as content:
                    content["order"] = order
            if order and leases:
                return content
        except gantry.Error as e:
            if e.status in REFUSED:
                _came_to_nothing(client, saved)
                raise NoCapacityError(str(e)) from e
            _wait_or_raise(heard, e)
        except httpx.HTTPError as e:
            _wait_or_raise(heard, e)
        if time.monotonic() - began > PATIENCE:
            raise ComputeError(f"no machine was awarded within {PATIENCE / 60:.0f} minutes; see gantry why {content.get('order', content['key'])}")


def _came_to_nothing(client: gantry.Client, saved: Store) -> None:
    """A lease whose start has failed may have been awarded all the same."""
    with saved.change() as content:
        content["failed"] = True
    try:
        _stop(client, content)
    except NotYetTerminated:
        return  # the next purchase for the job, or the sweep, ends it
    saved.remove()


def _stop(client: gantry.Client, content: dict[str, Any]) -> None:
    for lease in alive(client, content):
        if str(lease.status) != "running":
            raise NotYetTerminated(f"lease {lease.address} is ended when it has started")
        client.stop(lease.address)


def _of(content: dict[str, Any], server: str) -> None:
    """Another server does not know the lease, and would say that nothing runs."""
    if content["server"] != server:
        raise ComputeError(f"the machine was bought at {content['server']}, and server/config.yml names {server}; change it back, or see gantry leases")


def _wait_or_raise(heard: float, e: Exception) -> None:
    if time.monotonic() - heard > AWAY:
        raise ComputeError(f"gantry serve does not buy: {e}") from e
    time.sleep(1.0)


def _ask(client: gantry.Client, content: dict[str, Any]) -> tuple[str, list[Lease]]:
    """The order and its leases so far. The server answers after 25 seconds at the latest, and buys once for a key."""
    now = answer(create_order.sync(client=client.core, body=OrderRequest.from_dict(content["request"]), idempotency_key=content["key"]))
    return str(now.order or ""), list(now.leases)


def alive(client: gantry.Client, content: dict[str, Any]) -> list[Lease]:
    """The leases of the purchase that run, or may come to."""
    order = content.get("order")
    return [x for x in client.leases() if order and x.order == order and str(x.status) in ALIVE]


def endpoint(client: gantry.Client, saved: Store, port: int) -> tuple[str, int] | None:
    """Where the container's port is reached; None while it is not."""
    content = saved.read()
    if not content.get("key"):
        raise ProvisioningError("the machine of this job was not bought, or has ended")
    if not content.get("known"):
        with saved.change() as content:
            content["known"] = True  # dstack has the machine in its database now, and will end it
    now = alive(client, content)
    if not now:
        raise ProvisioningError(_why(client, content))
    if str(now[0].status) != "running":
        return None
    try:
        host, _, number = client.endpoint(now[0].address, port).rpartition(":")
    except gantry.Error:
        return None  # nothing listens there yet: the container installs its SSH server
    return host, int(number)


def _why(client: gantry.Client, content: dict[str, Any]) -> str:
    over = [x.address for x in client.leases() if x.order == content["order"]]
    try:
        return f"the lease is over: {client.why(over[-1] if over else content['order']).says}"
    except gantry.Error as e:
        return f"the lease is over: {e}"


def end(client: gantry.Client, saved: Store, server: str) -> None:
    """Ends the lease. A purchase that was cut off is first brought to its end: its order could be awarded later."""
    content = saved.read()
    if not content.get("key"):
        saved.remove()
        return
    _of(content, server)
    if not content.get("unwanted"):
        with saved.change() as content:
            content["unwanted"] = True  # dstack gives up when this fails for a quarter of an hour; the sweep does not
    if not content.get("order") and not content.get("failed"):
        try:
            content = _finish(client, saved)
        except NoCapacityError:
            return
    _stop(client, content)
    saved.remove()
