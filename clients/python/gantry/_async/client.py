"""A gantry serve and the clusters that it rents. scripts/clients.sh makes gantry/_sync of gantry/_async."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from ..common import Error, Events, answer, connect, order_request, shield_async, sleep_async
from ..core.api.default import (
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
    list_volumes,
    scale_cluster,
    stop_lease,
)
from ..core.api.default import create_cluster as post_cluster
from ..core.api.default import delete_volume as erase_volume
from ..core.models import (
    Audit,
    ClusterMember,
    ClusterRequest,
    Event,
    ExtendInputBody,
    ForwardInputBody,
    KeptVolume,
    Lease,
    MachineCluster,
    MachineClusterState,
    Offers,
    OrderRequest,
    Problem,
    ScaleClusterInputBody,
    Statistics,
    Status,
    Why,
)


class AsyncClient:
    """A gantry serve. It is a context manager that closes its connections."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self.core = connect(url, token)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.core.get_async_httpx_client().aclose()

    async def offers(self, terms: str = "", limit: int = 100) -> Offers:
        """The nodes that fit the terms of gantry search, the best first."""
        return answer(await list_offers.asyncio(client=self.core, q=terms, limit=limit))

    async def leases(self) -> list[Lease]:
        """The customer's leases that are not closed, the newest first."""
        return answer(await list_leases.asyncio(client=self.core)).leases

    async def lease(self, address: str) -> Lease:
        return answer(await get_lease.asyncio(address, client=self.core))

    async def stop(self, address: str) -> Lease:
        """Ends a lease; one that is over already is answered as it is."""
        return answer(await stop_lease.asyncio(address, client=self.core))

    async def extend(self, address: str, seconds: int, key: str | None = None) -> Lease:
        """Gives a running lease more time, once for a key."""
        body = ExtendInputBody(seconds=seconds)
        return answer(await extend_lease.asyncio(address, client=self.core, body=body, idempotency_key=key or str(uuid.uuid4())))

    async def endpoint(self, address: str, port: int) -> str:
        """Where a port of a lease's container is reached on the server's machine: an address and a port, until the lease ends."""
        return answer(await forward_port.asyncio(address, client=self.core, body=ForwardInputBody(port=port))).endpoint

    async def logs(self, address: str, tail: int = 65536) -> str:
        """The end of the output of a lease's job."""
        return answer(await get_logs.asyncio(address, client=self.core, tail=tail)).text

    async def status(self) -> Status:
        return answer(await get_status.asyncio(client=self.core))

    async def statistics(self) -> Statistics:
        return answer(await get_statistics.asyncio(client=self.core))

    async def audit(self, address: str) -> Audit:
        """The history of a lease, rebuilt from its transactions and checked."""
        return answer(await audit_lease.asyncio(address, client=self.core))

    async def why(self, address: str) -> Why:
        """Why an order waits or is over, or how a lease is or has ended: a reason for programs, and in words."""
        return answer(await get_why.asyncio(address, client=self.core))

    async def volumes(self) -> list[KeptVolume]:
        """The volumes that the customer keeps in the server's bucket, by name."""
        return answer(await list_volumes.asyncio(client=self.core)).volumes

    async def delete_volume(self, name: str) -> KeptVolume:
        """Removes a volume with all its snapshots, which cannot be taken back. It is refused while a lease uses the volume."""
        return answer(await erase_volume.asyncio(name, client=self.core))

    async def events(self, after: str | None = None) -> AsyncIterator[Event]:
        """Changes of leases, orders and credits as they come, behind the event with the id `after`. It connects again when
        the connection breaks, and raises Error where events are missing: read the leases then, and begin anew."""
        last = after
        while True:
            query = {"after": "0"} if last == "0" else {}
            headers = {"Last-Event-ID": last} if last and last != "0" else {}
            lines = Events()
            http = self.core.get_async_httpx_client()
            try:
                async with http.stream("GET", "/v1/events", params=query, headers=headers, timeout=httpx.Timeout(60.0)) as stream:
                    if stream.status_code != 200:
                        answer(Problem.from_dict(json.loads(await stream.aread())))
                    async for line in stream.aiter_lines():
                        for kind, last, data in lines.take(line):
                            if kind in ("gap", "problem"):
                                raise Error(data.get("detail", "the stream broke off"), data.get("nextStep", ""))
                            if kind != "ready":
                                yield Event.from_dict(data)
            except httpx.TransportError:
                await sleep_async(0.5)

    async def create_cluster(
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
        volume: str | None = None,
        keep: bool = False,
        run_to_completion: bool = False,
        allow_simulated: bool = False,
        order: Mapping[str, Any] | None = None,
        port: int | None = None,
        key: str | None = None,
        timeout: float = 900.0,
    ) -> AsyncCluster:
        """Rents `nodes` machines with `gpu_count` GPUs each, all or none, and runs the image on them.

        It returns when they run. Several machines with an image have a private network, in which they are node-0, node-1 and
        so on: cluster.members. The most that it can cost is max_price (USDC per GPU-hour; the model's reference price by
        default) × GPUs × hours. `volume` is NAME:SIZE[:PATH], an encrypted file system for the container. With `keep` it outlives its lease in the
        server's bucket: the next lease with a volume of this name begins with its files, and needs no size. `order` has any other field of an order, by its name in the HTTP API, such as {"minTops": "300"};
        it comes before the arguments. `port` is that of the container which cluster.endpoint() leads to. `key` is the cluster's name: one
        that is used again never buys twice.
        """
        key = key or str(uuid.uuid4())
        request = order_request(
            gpu_type, gpu_count, image, region, nodes, hours, max_price, command, env, network, volume, keep, run_to_completion, allow_simulated, order
        )
        late = time.monotonic() + timeout
        try:
            while True:
                if request.image and nodes > 1:
                    cluster = await self._network(request, key, port)
                else:
                    cluster = await self._machines(request, key, port)
                if cluster is not None:
                    return cluster
                if time.monotonic() > late:
                    raise Error(f"the machines do not run after {timeout:.0f} seconds", "call again with the same key")
        except BaseException as e:
            e.add_note(f"the purchase has the key {key!r}: create_cluster(key={key!r}) continues it and never buys twice")
            raise

    async def _machines(self, request: OrderRequest, key: str, port: int | None) -> AsyncCluster | None:
        """Machines without a private network; None while they are bought."""
        bought = answer(await create_order.asyncio(client=self.core, body=request, idempotency_key=key))
        return AsyncCluster(self, key, str(bought.order), list(bought.leases), port) if bought.phase == "bought" else None

    async def _network(self, request: OrderRequest, key: str, port: int | None) -> AsyncCluster | None:
        """Machines with a private network; None while they are bought."""
        body = ClusterRequest.from_dict(request.to_dict())
        now = answer(await post_cluster.asyncio(client=self.core, body=body, idempotency_key=key))
        if now.state == MachineClusterState.FAILED:
            raise Error(f"no machines were bought: {now.failed}", "choose another key")
        if now.state in (MachineClusterState.BUYING, MachineClusterState.STARTING):
            return None
        cluster = AsyncCluster(self, key, now.order, [], port, now.members)
        await cluster.refresh()
        return cluster

    async def cluster(self, name: str) -> MachineCluster:
        """A cluster with a private network, by its key or its order: state, members and cost."""
        return answer(await get_cluster.asyncio(name, client=self.core))


class AsyncCluster:
    """Machines that run. As a context manager it ends their leases."""

    def __init__(
        self, client: AsyncClient, key: str, order: str, leases: list[Lease], port: int | None = None, members: Sequence[ClusterMember] = ()
    ) -> None:
        self.client, self.key, self.order, self.leases, self.port = client, key, order, leases, port
        #: The places of the private network by their number; none without a network.
        self.members = list(members)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            with shield_async():  # also when the program is cancelled
                await self.down()
        except Error as e:
            if error is None:
                raise
            error.add_note(f"and leases of order {self.order} could not be ended: {e}")

    async def endpoint(self, port: int | None = None) -> str:
        """The https address that a gateway has given to node-0. Without one, where the first machine's port is reached on the server's
        machine, such as 127.0.0.1:40123."""
        if self.members and (public := (await self.client.cluster(self.order)).endpoint):
            return public
        return await self.client.endpoint(self.members[0].lease if self.members else self.leases[0].address, self._port(port))

    async def endpoints(self, port: int | None = None) -> dict[str, str]:
        """Where a port of each machine's container is reached on the server's machine, by the lease's address."""
        port = self._port(port)
        return {x.address: await self.client.endpoint(x.address, port) for x in self.leases}

    def _port(self, port: int | None) -> int:
        if port := port or self.port:
            return port
        raise Error("no port is named", "name one: create_cluster(port=…) or endpoint(port)")

    async def refresh(self) -> list[Lease]:
        """The leases as they are now, also those that have moved to another machine."""
        if self.members:
            self.members = (await self.client.cluster(self.order)).members
        places = {m.lease for m in self.members}
        self.leases = [x for x in await self.client.leases() if x.order == self.order or x.address in places]
        return self.leases

    async def scale(self, nodes: int) -> Sequence[ClusterMember]:
        """Adds machines until `nodes` run, and returns when they do. They have the job of the others, the places behind theirs, and the time
        that is left. Only a cluster with a private network can grow."""
        if not self.members:
            raise Error("the cluster has no private network, and cannot grow", "order containers on several machines: image and nodes of create_cluster")
        body = ScaleClusterInputBody(nodes=nodes)
        while True:
            now = answer(await scale_cluster.asyncio(self.order, client=self.client.core, body=body)).members
            if sum(m.status == "running" for m in now) >= nodes:
                await self.refresh()
                return self.members

    async def logs(self, tail: int = 65536) -> dict[str, str]:
        """The end of the output of each machine's job, by the lease's address."""
        return {x.address: await self.client.logs(x.address, tail) for x in self.leases}

    async def extend(self, seconds: int) -> list[Lease]:
        """Gives every lease more time."""
        self.leases = [await self.client.extend(x.address, seconds) for x in self.leases]
        return self.leases

    async def down(self, timeout: float = 900.0) -> list[Lease]:
        """Ends every lease. It waits for those that have not started, and tries all of them before it raises."""
        if self.members:
            late = time.monotonic() + timeout
            while left := answer(await end_cluster.asyncio(self.order, client=self.client.core)).left:
                if time.monotonic() > late:
                    raise Error("leases are not ended: " + "; ".join(left), "end them with gantry cluster down " + self.order)
            return await self.refresh()
        ended: list[Lease] = []
        failed: list[str] = []
        for x in await self.refresh() or self.leases:
            try:
                ended.append(await self.client.stop(x.address))
            except (Error, httpx.HTTPError) as e:
                failed.append(f"{x.address}: {e}")
        if failed:
            raise Error("leases are not ended and are billed: " + ", ".join(failed), "stop them with gantry stop LEASE")
        self.leases = ended
        return ended


async def create_cluster_async(
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
    volume: str | None = None,
    keep: bool = False,
    run_to_completion: bool = False,
    allow_simulated: bool = False,
    order: Mapping[str, Any] | None = None,
    port: int | None = None,
    key: str | None = None,
    timeout: float = 900.0,
    client: AsyncClient | None = None,
) -> AsyncCluster:
    """create_cluster of a client, by default of the server in GANTRY_SERVER."""
    return await (client or AsyncClient()).create_cluster(
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
        volume=volume,
        keep=keep,
        run_to_completion=run_to_completion,
        allow_simulated=allow_simulated,
        order=order,
        port=port,
        key=key,
        timeout=timeout,
    )
