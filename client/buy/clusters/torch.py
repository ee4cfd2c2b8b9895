"""Runs a command by torchrun on one machine of a cluster. Its arguments are those of torchrun, without what differs from machine to
machine.

The machines meet at a store on node-0. torchrun handles the loss of any other machine: it starts the command again when another
machine has taken the place. When node-0 is lost, torchrun ends on all machines, and is started again here.
"""

import os
import socket
import sys
import time

from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous.api import RendezvousClosedError
from torch.distributed.run import parse_args, run

PATIENCE = 1800  # seconds for which a machine waits for the others
GOODBYE = 10  # seconds for which node-0 keeps the store, so that the others see that the command has failed

first = os.environ["GANTRY_NODE_RANK"] == "0"
address = os.environ["GANTRY_NODE_IP"]
here = [
    "--rdzv_conf=is_host=%d,join_timeout=%d" % (first, PATIENCE),
    "--nproc_per_node=%d" % max(1, int(os.environ.get("GANTRY_GPU_COUNT") or 1)),
]
if hasattr(parse_args(["x"]), "local_addr"):
    here.append("--local_addr=" + address)
else:  # PyTorch 1 tells the others the machine's name, which is the same in all containers
    socket.getfqdn = lambda name="": address


def say(text):
    print("gantry: " + text, file=sys.stderr, flush=True)


def attempt():
    """Returns the exit status, or None where node-0 was lost."""
    try:
        run(parse_args(here + sys.argv[1:]))
        return 0
    except ChildFailedError as e:
        say(str(e))
        if first:
            time.sleep(GOODBYE)  # e has the store
        return 1
    except RendezvousClosedError:
        say("the command has ended on another machine")
        return 1
    except Exception as e:
        say("torchrun has ended: %s: %s" % (type(e).__name__, e))
        return None


lost = None
while True:
    began = time.monotonic()
    status = attempt()
    now = time.monotonic()
    if status is not None:
        sys.exit(status)
    if lost is None or now - began > PATIENCE:
        lost = now
    if now - lost > PATIENCE:
        say("node-0 has not come back for %d seconds" % PATIENCE)
        sys.exit(1)
    time.sleep(1)
