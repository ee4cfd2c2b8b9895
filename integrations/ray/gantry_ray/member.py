"""Runs on each machine of a cluster, as the program of its container. It has nothing but the image's own Python and Ray.

usage: member.py HEAD:PORT FLAG…

node-0 waits: ray up starts the head there. The others join it, and join it again when it has started anew. A machine that the
autoscaler gives back ends here, and its lease with it.
"""

import os
import signal
import socket
import subprocess
import sys
import time

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
(host, port), flags = sys.argv[1].split(":"), sys.argv[2:]
place = "node-" + os.environ["GANTRY_NODE_RANK"]
while place == "node-0":
    signal.pause()


def await_head():
    """Tries the head's port, which costs little. ray start would load all of Ray for each try."""
    while True:
        try:
            with socket.create_connection((host, int(port)), 5) as conn:
                return conn.getpeername()[0]
        except OSError:
            time.sleep(0.5)


def raylet_runs():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if file.read().split(b"\0")[0].endswith(b"/raylet"):
                    return True
        except OSError:
            pass  # it has ended
    return False


def run_ray(command):
    """Runs until Ray has ended here. ray start --block goes on when its raylet has ended in order, which is how the head gives a
    machine back."""
    started, seen = subprocess.Popen(command), False
    while started.poll() is None:
        time.sleep(1)
        if raylet_runs():
            seen = True
        elif seen:
            started.terminate()
            return started.wait()
    return started.returncode


def given_back(address):
    """Whether the head has marked this machine. The mark comes a moment after Ray has ended here."""
    asked = "import sys; from ray._raylet import GcsClient; sys.exit(GcsClient(address=sys.argv[1]).internal_kv_get(sys.argv[2].encode(), b'gantry') is None)"
    for _ in range(3):
        time.sleep(1)
        if subprocess.run([sys.executable, "-c", asked, address, "ended:" + place], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return True
    return False


while True:
    address = f"{await_head()}:{port}"
    start = ["ray", "start", "--block", f"--address={address}", "--node-ip-address=" + os.environ["GANTRY_NODE_IP"]]
    start.append("--num-gpus=" + os.environ.get("GANTRY_GPU_COUNT", "0"))
    if os.environ.get("GANTRY_CPUS"):
        start.append("--num-cpus=" + os.environ["GANTRY_CPUS"])
    status = run_ray(start + flags)
    if given_back(address):
        print(f"gantry: Ray's autoscaler gives {place} back", flush=True)
        sys.exit(0)
    print(f"gantry: Ray has ended on {place} with status {status}, and starts again", flush=True)
    subprocess.run(["ray", "stop", "--force"], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
