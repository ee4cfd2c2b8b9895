"""Rents a cluster by the Python client, reads at cluster.endpoint() what node-0 has read of node-1, and ends the cluster.

usage: clients_cluster.py IMAGE
"""

import sys
import time
import uuid

import httpx

import gantry

# Each container serves its rank in the private network. On its own address it shows what it has read of node-1.
SERVE = """mkdir /www /seen; echo "rank $GANTRY_NODE_RANK" >/www/index.html; httpd -p $GANTRY_NODE_IP:8080 -h /www
while ! /bin/busybox timeout 5 /bin/busybox wget -q -O /seen/index.html http://node-1:8080/; do sleep 1; done; httpd -f -p 127.0.0.1:8081 -h /seen"""


def page(endpoint: str) -> str:
    for _ in range(200):  # the containers begin a little later than their leases
        try:
            return httpx.get(f"http://{endpoint}/index.html", trust_env=False, timeout=10).raise_for_status().text
        except httpx.HTTPError as e:
            last = e
            time.sleep(0.3)
    raise last


key = "pair-" + str(uuid.uuid4())
asked = dict(
    gpu_type="A100", nodes=2, hours=0.2, max_price="3", image=sys.argv[1], network="none", command=["/bin/sh", "-c", SERVE], allow_simulated=True, port=8081, key=key
)
try:
    gantry.create_cluster(**{**asked, "key": key + "-wrong", "order": {"redundancy": 3}})
except gantry.Error as e:
    assert e.status == 400 and "private network" in e.detail, e
else:
    raise AssertionError("a cluster of compared outputs was bought")
with gantry.create_cluster(**asked) as cluster:
    assert [(m.place, m.host, m.address) for m in cluster.members] == [(0, "node-0", "10.77.0.1"), (1, "node-1", "10.77.0.2")], cluster.members
    assert {m.lease for m in cluster.members} == {x.address for x in cluster.leases}, cluster.leases
    again = gantry.create_cluster(**asked)
    assert again.order == cluster.order, "bought twice"
    assert page(cluster.endpoint()) == "rank 1\n"
    assert [m.host for m in cluster.scale(3)] == ["node-0", "node-1", "node-2"], cluster.members
    assert [m.lease for m in cluster.scale(3)] == [m.lease for m in cluster.members], "a machine was added twice"
    assert {m.lease for m in cluster.members} == {x.address for x in cluster.leases}, cluster.leases
    while float((now := cluster.client.cluster(key)).cost_at_most) == 0:  # the cost of whole seconds by the chain's clock
        assert now.state == "running", now
        time.sleep(0.3)
    assert now.state == "running" and now.endpoint is None, now
    assert float(now.cost_at_most) < float(now.cost_cap), now
ended = cluster.client.cluster(cluster.order)
assert ended.state == "ended" and all(m.status == "ended" for m in ended.members), ended
assert all(x.status == "ended" for x in cluster.leases) and len(cluster.leases) == 3, cluster.leases
print("ok")
