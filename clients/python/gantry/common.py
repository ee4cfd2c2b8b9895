"""What both clients share."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import anyio
import httpx

from .core.client import AuthenticatedClient
from .core.models import OrderRequest, OrderRequestEnv, OrderRequestNetwork, Problem
from .core.types import UNSET

T = TypeVar("T")

# A server answers after 25 seconds at the latest that a purchase is not complete yet.
_ANSWER = httpx.Timeout(60.0, connect=10.0)

# A name that ends with _async has its like without it: scripts/clients.sh leaves the ending out.
sleep, sleep_async = time.sleep, anyio.sleep
shield = contextlib.nullcontext


def shield_async() -> anyio.CancelScope:
    """Lets what it encloses end before a cancellation does."""
    return anyio.CancelScope(shield=True)


class Error(Exception):
    """What the server refuses: what happened, why, and what to do."""

    def __init__(self, detail: str, next_step: str = "", status: int = 0) -> None:
        super().__init__(detail if not next_step else f"{detail}; {next_step}")
        self.detail, self.next_step, self.status = detail, next_step, status


def connect(url: str | None, token: str | None) -> AuthenticatedClient:
    """The generated client of the server that the arguments or the environment name."""
    url, token = url or os.environ.get("GANTRY_SERVER"), token or os.environ.get("GANTRY_TOKEN")
    if not url or not token:
        raise Error("there is no server to ask", "set GANTRY_SERVER and GANTRY_TOKEN to what gantry serve has printed")
    # A proxy of the environment is not for a server on this machine, and would see the token.
    return AuthenticatedClient(base_url=url.rstrip("/"), token=token, timeout=_ANSWER, httpx_args={"trust_env": False})


def answer(result: T | Problem | None) -> T:
    """The result of an operation; Error where the server has refused it."""
    if isinstance(result, Problem):
        raise Error(result.detail, result.next_step or "", result.status)
    if result is None:
        raise Error("the server's answer is not one that this client knows", "use the client of the server's version")
    return result


def order_request(
    gpu_type: str,
    gpu_count: int,
    image: str | None,
    region: str | None,
    nodes: int,
    hours: float,
    max_price: str | None,
    command: Sequence[str],
    env: Mapping[str, str] | None,
    network: str | None,
    volume: str | None,
    keep: bool,
    run_to_completion: bool,
    allow_simulated: bool,
    order: Mapping[str, Any] | None,
) -> OrderRequest:
    """The order that the arguments of create_cluster ask for."""
    request = OrderRequest(
        gpu=gpu_type,
        count=gpu_count,
        nodes=nodes,
        seconds=round(hours * 3600),
        image=image or UNSET,
        region=region or UNSET,
        max_price_per_gpu_hour=max_price or UNSET,
        command=list(command) or UNSET,
        env=OrderRequestEnv.from_dict(dict(env)) if env else UNSET,
        network=OrderRequestNetwork(network) if network else UNSET,
        volume=volume or UNSET,
        keep=keep or UNSET,
        run_to_completion=run_to_completion,
        allow_simulated=allow_simulated,
    )
    if more := dict(order or {}):
        request = OrderRequest.from_dict({**request.to_dict(), **more})
        if lacks := more.keys() - request.to_dict().keys():
            raise Error(f"an order has no field {', '.join(sorted(lacks))}", "see OrderRequest in /openapi.json")
    return request


class Events:
    """Reads server-sent events: their kinds, ids and documents."""

    def __init__(self) -> None:
        self._kind, self._data = "", ""
        self._id: str | None = None

    def take(self, line: str) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
        """The event that a line completes, if it does."""
        name, _, value = line.partition(": ")
        if line == "" and self._data:
            yield self._kind, self._id, json.loads(self._data)
            self._kind, self._data = "", ""
        elif name == "event":
            self._kind = value
        elif name == "id":
            self._id = value
        elif name == "data":
            self._data = value
