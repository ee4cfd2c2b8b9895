"""Uses the Python client of programs with an event loop against a running gantry serve: rents machines, follows their events, and is
cancelled while it has them. Then compares both clients.

usage: clients_async.py NODES
"""

import asyncio
import inspect
import sys
import uuid

import anyio
import gantry


async def main(nodes: int) -> None:
    async with gantry.AsyncClient() as client:
        offers = await client.offers("gpu=A100 simulated", limit=1)
        assert len(offers.offers) == 1 and offers.fit >= nodes, offers
        ended: set[str] = set()

        async def watch() -> None:
            async for e in client.events("0"):
                if e.kind == "lease" and e.lease.status == "ended":
                    ended.add(e.address)

        watching = asyncio.create_task(watch())
        asked = dict(gpu_type="A100", nodes=nodes, hours=0.1, max_price="1.60", command=["sleep", "300"], allow_simulated=True)
        rented: list[gantry.AsyncCluster] = []
        runs = asyncio.Event()

        async def rent() -> None:
            async with await gantry.create_cluster_async(**asked, key="async-" + str(uuid.uuid4())) as cluster:
                rented.append(cluster)
                again = await client.create_cluster(**asked, key=cluster.key)
                assert {x.address for x in again.leases} == {x.address for x in cluster.leases}, "bought twice"
                before = {x.address: x.funded_until for x in await cluster.refresh()}
                assert all(x.funded_until == before[x.address] + 60 for x in await cluster.extend(60))
                runs.set()
                await asyncio.sleep(3600)

        # A program that is cancelled ends its leases, by asyncio's rules and by those of anyio and trio.
        task = asyncio.create_task(rent())
        await asyncio.wait_for(runs.wait(), 120)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        runs.clear()
        async with anyio.create_task_group() as group:
            group.start_soon(rent)
            await asyncio.wait_for(runs.wait(), 120)
            group.cancel_scope.cancel()
        mine = {x.address: x.status for x in await client.leases() if x.order in {c.order for c in rented}}
        assert len(mine) == 2 * nodes and set(mine.values()) == {"ended"}, mine
        for _ in range(300):
            if ended >= set(mine):
                break
            await asyncio.sleep(0.2)
        assert ended >= set(mine), "an event is missing"
        watching.cancel()
        try:
            await client.create_cluster(gpu_type="A100", hours=10000, max_price="1.60", command=["true"], allow_simulated=True, key="big")
        except gantry.Error as e:
            assert e.status in (400, 409) and e.next_step and "big" in e.__notes__[0], e
        else:
            raise AssertionError("an order over the cap was placed")
        first = next(iter(mine))
        assert (await client.audit(first)).lease == first and (await client.why(first)).reason == "stopped"
        assert (await client.status()).account.live_leases >= 0 and (await client.statistics()).total.nodes >= nodes


def public(of: type) -> dict[str, str]:
    """The public methods of a class with their signatures, in the words of the client without await."""
    words = {"AsyncIterator": "Iterator", "AsyncClient": "Client", "AsyncCluster": "Cluster"}
    found = {}
    for name, method in inspect.getmembers(of, inspect.isfunction):
        signature = str(inspect.signature(method))
        for word, other in words.items():
            signature = signature.replace(word, other)
        if not name.startswith("_") or name == "__init__":
            found[name] = signature
    return found


for waits, other in ((gantry.AsyncClient, gantry.Client), (gantry.AsyncCluster, gantry.Cluster)):
    assert public(waits) == public(other), (public(waits), public(other))
    assert len(public(waits)) > 5
    for name in public(other):
        call = getattr(waits, name)
        assert name in ("__init__",) or inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call), name
        assert not inspect.iscoroutinefunction(getattr(other, name)), name
asyncio.run(main(int(sys.argv[1])))
print("ok")
