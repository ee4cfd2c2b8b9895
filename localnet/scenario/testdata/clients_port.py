"""Rents a container with a web server by the Python client, and reads a page of it at cluster.endpoint().

usage: clients_port.py IMAGE
"""

import sys
import time

import httpx

import gantry


def page(endpoint: str) -> str:
    for _ in range(100):  # the server in the container begins a little later than the container
        try:
            return httpx.get(f"http://{endpoint}/index.html", trust_env=False, timeout=10).raise_for_status().text
        except httpx.HTTPError as e:
            last = e
            time.sleep(0.2)
    raise last


with gantry.create_cluster(
    gpu_type="A100",
    hours=0.1,
    max_price="3",
    image=sys.argv[1],
    network="none",
    command=["/bin/sh", "-c", "mkdir /www; echo the page >/www/index.html; httpd -f -p 127.0.0.1:8080 -h /www"],
    allow_simulated=True,
    port=8080,
) as cluster:
    endpoint = cluster.endpoint()
    assert page(endpoint) == "the page\n"
    assert cluster.endpoint() == endpoint, "forwarded twice"
for _ in range(100):
    try:
        httpx.get(f"http://{endpoint}/", trust_env=False, timeout=5)
    except httpx.HTTPError:
        break
    time.sleep(0.2)
else:
    raise AssertionError("the port is open although the lease is over")
try:
    cluster.client.endpoint(cluster.leases[0].address, 8080)
except gantry.Error as e:
    assert e.status == 409, e
else:
    raise AssertionError("a port of a lease that is over is forwarded")
print("ok")
