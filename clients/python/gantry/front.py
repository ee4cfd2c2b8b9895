"""What is written by hand over the generated gantry.core."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

from .core.api.default import create_cluster as post_cluster
from .core.api.default import (
    audit_lease,
    create_order,
    end_cluster,
    extend_lease,
    forward_port,
    get_cluster,
    get_lease,
    get_logs,
    get_statistics,
    get_status,
    get_why,
    list_leases,
    list_offers,
    stop_lease,
)
from .core.client import AuthenticatedClient
from .core.models import (
    Audit,
    ClusterMember,
    ClusterRequest,
    Event,
    ExtendInputBody,
    ForwardInputBody,
    Lease,
    MachineCluster,
    MachineClusterState,
    Offers,
    OrderRequest,
    OrderRequestEnv,
    OrderRequestNetwork,
    Problem,
    Statistics,
    Status,
    Why,
)
from .core.types import UNSET

T = TypeVar("T")

# A server answers after 25 seconds at the latest that a purchase goes on.
_ANSWER = httpx.Timeout(60.0, connect=10.0)


class Error(Exception):
    """What the server refuses: what happened, why, and what to do."""

    def __init__(self, detail: str, next_step: str = "", status: int = 0) -> None:
        super().__init__(detail if not next_step else f"{detail}; {next_step}")
        self.detail, self.next_step, self.status = detail, next_step, status


def _answer(answer: T | Problem | None) -> T:
    if isinstance(answer, Problem):
        raise Error(answer.detail, answer.next_step or "", answer.status)
    if answer is None:
        raise Error("the server's answer is not one that this client knows", "use the client of the server's version")
    return answer


class Client:
    """A gantry serve. It is a context manager that closes its connections."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        url, token = url or os.environ.get("GANTRY_SERVER"), token or os.environ.get("GANTRY_TOKEN")
        if not url or not token:
            raise Error("there is no server to ask", "set GANTRY_SERVER and GANTRY_TOKEN to what gantry serve has printed")
        # A proxy of the environment is not for a server on this machine, and would see the token.
        self.core = AuthenticatedClient(base_url=url.rstrip("/"), token=token, timeout=_ANSWER, httpx_args={"trust_env": False})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.core.get_httpx_client().close()

    def offers(self, terms: str = "", limit: int = 100) -> Offers:
        """The nodes that fit the terms of gantry search, the best first."""
        return _answer(list_offers.sync(client=self.core, q=terms, limit=limit))

    def leases(self) -> list[Lease]:
        """The customer's leases that are not closed, the newest first."""
        return _answer(list_leases.sync(client=self.core)).leases

    def lease(self, address: str) -> Lease:
        return _answer(get_lease.sync(address, client=self.core))

    def stop(self, address: str) -> Lease:
        """Ends a lease; one that is over already is answered as it is."""
        return _answer(stop_lease.sync(address, client=self.core))

    def extend(self, address: str, seconds: int, key: str | None = None) -> Lease:
        """Gives a running lease more time, once for a key."""
        body = ExtendInputBody(seconds=seconds)
        return _answer(extend_lease.sync(address, client=self.core, body=body, idempotency_key=key or str(uuid.uuid4())))

    def endpoint(self, address: str, port: int) -> str:
        """Where a port of a lease's container is reached on the server's machine: an address and a port, until the lease ends."""
        return _answer(forward_port.sync(address, client=self.core, body=ForwardInputBody(port=port))).endpoint

    def logs(self, address: str, tail: int = 65536) -> str:
        """The end of the output of a lease's job."""
        return _answer(get_logs.sync(address, client=self.core, tail=tail)).text

    def status(self) -> Status:
        return _answer(get_status.sync(client=self.core))

    def statistics(self) -> Statistics:
        return _answer(get_statistics.sync(client=self.core))

    def audit(self, address: str) -> Audit:
        """The history of a lease, rebuilt from its transactions and checked."""
        return _answer(audit_lease.sync(address, client=self.core))

    def why(self, address: str) -> Why:
        """Why an order waits or is over, or how a lease is or has ended: a reason for programs, and in words."""
        return _answer(get_why.sync(address, client=self.core))

    def events(self, after: str | None = None) -> Iterator[Event]:
        """Changes of leases, orders and credits as they come, behind the event with the id `after`. It connects again when
        the connection breaks, and raises Error where events are missing: read the leases then, and begin anew."""
        last = after
        while True:
            query = {"after": "0"} if last == "0" else {}
            headers = {"Last-Event-ID": last} if last and last != "0" else {}
            http = self.core.get_httpx_client()
            try:
                with http.stream("GET", "/v1/events", params=query, headers=headers, timeout=httpx.Timeout(60.0)) as stream:
                    if stream.status_code != 200:
                        _answer(Problem.from_dict(json.loads(stream.read())))
                    for kind, last, data in _events(stream.iter_lines()):
                        if kind in ("gap", "problem"):
                            raise Error(data.get("detail", "the stream broke off"), data.get("nextStep", ""))
                        if kind != "ready":
                            yield Event.from_dict(data)
            except httpx.TransportError:
                time.sleep(0.5)

    def create_cluster(
        self,
        gpu_type: str,
        gpu_count: int = 1,
        image: str | None = None,
        region: str | None = None,
        nodes: int = 1,
        *,
        hours: float = 1.0,
        max_price: str | None = None,
        command: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        network: str | None = None,
        run_to_completion: bool = False,
        allow_simulated: bool = False,
        order: Mapping[str, Any] | None = None,
        port: int | None = None,
        key: str | None = None,
        timeout: float = 900.0,
    ) -> Cluster:
        """Rents `nodes` machines with `gpu_count` GPUs each, all or none, and runs the image on them.

        It returns when they run. Several machines with an image have a private network, in which they are node-0, node-1 and
        so on: cluster.members. The most that it can cost is max_price (USDC per GPU-hour; the model's reference price by
        default) × GPUs × hours. `order` has any other field of an order, by its name in the HTTP API, such as {"minTops": "300"};
        it comes before the arguments. `port` is that of the container which cluster.endpoint leads to. `key` is the cluster's name: one
        that is used again never buys twice.
        """
        more = dict(order or {})
        key = key or str(uuid.uuid4())
        environment = OrderRequestEnv.from_dict(dict(env)) if env else UNSET
        request = OrderRequest(
            gpu=gpu_type,
            count=gpu_count,
            nodes=nodes,
            seconds=round(hours * 3600),
            image=image or UNSET,
            region=region or UNSET,
            max_price_per_gpu_hour=max_price or UNSET,
            command=list(command) or UNSET,
            env=environment,
            network=OrderRequestNetwork(network) if network else UNSET,
            run_to_completion=run_to_completion,
            allow_simulated=allow_simulated,
        )
        if more:
            request = OrderRequest.from_dict({**request.to_dict(), **more})
            if lacks := more.keys() - request.to_dict().keys():
                raise Error(f"an order has no field {', '.join(sorted(lacks))}", "see OrderRequest in /openapi.json")
        late = time.monotonic() + timeout
        try:
            while True:
                cluster = self._network(request, key, port) if request.image and nodes > 1 else self._machines(request, key, port)
                if cluster is not None:
                    return cluster
                if time.monotonic() > late:
                    raise Error(f"the machines do not run after {timeout:.0f} seconds", "call again with the same key")
        except BaseException as e:
            e.add_note(f"the purchase has the key {key!r}: create_cluster(key={key!r}) goes on with it and never buys twice")
            raise


    def _machines(self, request: OrderRequest, key: str, port: int | None) -> Cluster | None:
        """Machines without a private network; None while they are bought."""
        bought = _answer(create_order.sync(client=self.core, body=request, idempotency_key=key))
        return Cluster(self, key, str(bought.order), list(bought.leases), port) if bought.phase == "bought" else None

    def _network(self, request: OrderRequest, key: str, port: int | None) -> Cluster | None:
        """Machines with a private network; None while they are bought."""
        body = ClusterRequest.from_dict(request.to_dict())
        now = _answer(post_cluster.sync(client=self.core, body=body, idempotency_key=key))
        if now.state == MachineClusterState.FAILED:
            raise Error(f"no machines were bought: {now.failed}", "choose another key")
        if now.state in (MachineClusterState.BUYING, MachineClusterState.STARTING):
            return None
        cluster = Cluster(self, key, now.order, [], port, now.members)
        cluster.refresh()
        return cluster

    def cluster(self, name: str) -> MachineCluster:
        """A cluster with a private network, by its key or its order: state, members and cost."""
        return _answer(get_cluster.sync(name, client=self.core))


class Cluster:
    """Machines that run. As a context manager it ends their leases."""

    def __init__(
        self, client: Client, key: str, order: str, leases: list[Lease], port: int | None = None, members: Sequence[ClusterMember] = ()
    ) -> None:
        self.client, self.key, self.order, self.leases, self.port = client, key, order, leases, port
        #: The places of the private network by their number; none without a network.
        self.members = list(members)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.down()
        except Error as e:
            if error is None:
                raise
            error.add_note(f"and leases of order {self.order} could not be ended: {e}")

    @property
    def endpoint(self) -> str:
        """The https address that a gateway has given to node-0. Without one, where the first machine's port is reached on the server's
        machine, such as 127.0.0.1:40123."""
        if self.members and (public := self.client.cluster(self.order).endpoint):
            return public
        return self.client.endpoint(self.members[0].lease if self.members else self.leases[0].address, self._port(None))

    def endpoints(self, port: int | None = None) -> dict[str, str]:
        """Where a port of each machine's container is reached on the server's machine, by the lease's address."""
        port = self._port(port)
        return {x.address: self.client.endpoint(x.address, port) for x in self.leases}

    def _port(self, port: int | None) -> int:
        if port := port or self.port:
            return port
        raise Error("no port is named", "name one: create_cluster(port=…) or endpoints(port)")

    def refresh(self) -> list[Lease]:
        """The leases as they are now, also those that have moved to another machine."""
        if self.members:
            self.members = self.client.cluster(self.order).members
        self.leases = [x for x in self.client.leases() if x.order == self.order]
        return self.leases

    def logs(self, tail: int = 65536) -> dict[str, str]:
        """The end of the output of each machine's job, by the lease's address."""
        return {x.address: self.client.logs(x.address, tail) for x in self.leases}

    def extend(self, seconds: int) -> list[Lease]:
        """Gives every lease more time."""
        self.leases = [self.client.extend(x.address, seconds) for x in self.leases]
        return self.leases

    def down(self, timeout: float = 900.0) -> list[Lease]:
        """Ends every lease. It waits for those that have not started, and tries all of them before it raises."""
        if self.members:
            late = time.monotonic() + timeout
            while left := _answer(end_cluster.sync(self.order, client=self.client.core)).left:
                if time.monotonic() > late:
                    raise Error("leases are not ended: " + "; ".join(left), "end them with gantry cluster down " + self.order)
            return self.refresh()
        ended: list[Lease] = []
        failed: list[str] = []
        for x in self.refresh() or self.leases:
            try:
                ended.append(self.client.stop(x.address))
            except (Error, httpx.HTTPError) as e:
                failed.append(f"{x.address}: {e}")
        if failed:
            raise Error("leases are not ended and are billed: " + ", ".join(failed), "stop them with gantry stop LEASE")
        self.leases = ended
        return ended


def create_cluster(
    gpu_type: str,
    gpu_count: int = 1,
    image: str | None = None,
    region: str | None = None,
    nodes: int = 1,
    *,
    hours: float = 1.0,
    max_price: str | None = None,
    command: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    network: str | None = None,
    run_to_completion: bool = False,
    allow_simulated: bool = False,
    order: Mapping[str, Any] | None = None,
    port: int | None = None,
    key: str | None = None,
    timeout: float = 900.0,
    client: Client | None = None,
) -> Cluster:
    """Client.create_cluster of the server in GANTRY_SERVER."""
    return (client or Client()).create_cluster(
        gpu_type,
        gpu_count,
        image,
        region,
        nodes,
        hours=hours,
        max_price=max_price,
        command=command,
        env=env,
        network=network,
        run_to_completion=run_to_completion,
        allow_simulated=allow_simulated,
        order=order,
        port=port,
        key=key,
        timeout=timeout,
    )


def _events(lines: Iterator[str]) -> Iterator[tuple[str, str | None, dict[str, str]]]:
    """Server-sent events: kind, id and document."""
    kind, last, data = "", None, ""
    for line in lines:
        name, _, value = line.partition(": ")
        if line == "" and data:
            yield kind, last, json.loads(data)
            kind, data = "", ""
        elif name == "event":
            kind = value
        elif name == "id":
            last = value
        elif name == "data":
            data = value
