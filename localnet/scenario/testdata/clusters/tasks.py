"""A job of Ray: tasks that last, whose results are added up. It says how far it is, and which machines have worked."""

import collections
import sys
import time

import ray

count = int(sys.argv[1])
ray.init()


@ray.remote(num_cpus=2)
def square(i):
    time.sleep(0.3)
    return i * i, ray.util.get_node_ip_address()


pending, total, hosts = [square.remote(i) for i in range(count)], 0, collections.Counter()
for done in range(1, count + 1):
    ready, pending = ray.wait(pending)
    value, host = ray.get(ready[0])
    total += value
    hosts[host] += 1
    print("done %d on %s" % (done, host), flush=True)
print("total %d hosts %s" % (total, " ".join(sorted(hosts))), flush=True)
