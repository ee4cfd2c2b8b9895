"""Keeps a volume by the Python client: a second lease reads what the first has written. Then the volume is deleted.

usage: clients_volume.py IMAGE
"""

import sys
import time

import gantry


def until(lease: str, text: str) -> None:
    for _ in range(300):  # the job begins a little later than its lease
        if text in (last := client.logs(lease)):
            return
        time.sleep(0.2)
    raise AssertionError(f"{text} is not in {last}")


client = gantry.Client()
rent = dict(gpu_type="A100", hours=0.2, max_price="3", image=sys.argv[1], network="none", keep=True, allow_simulated=True)
with client.create_cluster(**rent, volume="data:32MiB", command=["put=/data/x,kept ", "wait"]) as cluster:
    until(cluster.leases[0].address, "waiting")
    (volume,) = client.volumes()
    assert (volume.name, volume.size_mi_b) == ("data", 32), volume
    assert volume.used_by.lease == cluster.leases[0].address, volume
    try:
        client.delete_volume("data")
    except gantry.Error as e:
        assert e.status == 409 and "in use" in e.detail, e
    else:
        raise AssertionError("a volume in use was deleted")
with client.create_cluster(**rent, volume="data", command=["get=/data/x", "wait"]) as cluster:
    until(cluster.leases[0].address, '"kept kept "')
for _ in range(600):  # the last snapshot takes a moment
    try:
        assert client.delete_volume("data").name == "data"
        break
    except gantry.Error as e:
        assert "in use" in e.detail, e
        time.sleep(0.2)
assert client.volumes() == [], client.volumes()
print("ok")
