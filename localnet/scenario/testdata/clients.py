"""Uses the Python client against a running gantry serve: rents machines, extends and ends their leases.

usage: clients.py NODES
"""

import sys
import threading
import uuid

import gantry


def main(nodes: int) -> None:
    with gantry.Client() as client:
        offers = client.offers("gpu=A100 simulated", limit=1)
        assert len(offers.offers) == 1 and offers.fit >= nodes, offers
        key = "python-" + str(uuid.uuid4())
        seen: list[str] = []
        ended = threading.Event()

        def watch() -> None:
            with gantry.Client() as other:
                for e in other.events("0"):
                    if e.kind == "lease" and e.lease.status == "ended":
                        seen.append(e.address)
                        if len(seen) == nodes:
                            ended.set()
                            return

        threading.Thread(target=watch, daemon=True).start()
        asked = dict(gpu_type="A100", nodes=nodes, hours=0.1, max_price="1.60", command=["sh", "-c", "echo $GREETING; sleep 300"], env={"GREETING": "hello"}, allow_simulated=True)
        try:
            with gantry.create_cluster(**asked, key=key) as cluster:
                again = client.create_cluster(**asked, key=key)
                assert {x.address for x in again.leases} == {x.address for x in cluster.leases}, "bought twice"
                assert len(cluster.refresh()) == nodes and all(x.status == "running" for x in cluster.leases), cluster.leases
                before = {x.address: x.funded_until for x in cluster.leases}
                assert all(x.funded_until == before[x.address] + 60 for x in cluster.extend(60))
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        mine = [x for x in client.leases() if x.order == cluster.order]
        assert len(mine) == nodes and all(x.status == "ended" for x in mine), mine
        assert ended.wait(60), seen
        try:
            client.create_cluster(gpu_type="A100", hours=10000, max_price="1.60", command=["true"], allow_simulated=True, key=key + "-2")
        except gantry.Error as e:
            assert e.status in (400, 409) and e.next_step and key + "-2" in e.__notes__[0], e
        else:
            raise AssertionError("an order over the cap was placed")
        assert client.status().account.live_leases >= nodes
        assert client.statistics().total.nodes >= nodes
        assert client.audit(mine[0].address).lease == mine[0].address
        assert client.why(mine[0].address).reason == "stopped"
        assert set(client.why(cluster.order).leases) == {x.address for x in mine}
    print("ok")


main(int(sys.argv[1]))
