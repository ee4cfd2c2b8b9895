"""A gantry serve with machines in memory, which the real client asks over HTTP, and a folder of dstack's server."""

from __future__ import annotations

import datetime
import http.server
import json
import os
import pathlib
import tempfile
import threading
import unittest
import uuid
from typing import Any

import gantry_dstack.hook  # noqa: F401  what gantry_dstack.pth imports at the start of Python

#: dstack reads paths while it is imported.
HOME = tempfile.TemporaryDirectory()
os.environ.update(HOME=HOME.name, DSTACK_SERVER_DIR=f"{HOME.name}/server", no_proxy="*")

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEaQzoNTu1aXAHHzcPd0hqfoYGGCyLT9CWqSDo3zlZfP"


def offer(model: str, region: str, price: str, gpus: int = 1, free: int | None = None, cpus: int = 16, ram: int = 65536, simulated: bool = False) -> dict[str, Any]:
    return {
        "address": f"{model}{region}{price}", "provider": "P", "nodeKey": "K", "model": model, "gpus": gpus, "freeGpus": gpus if free is None else free,
        "vramMib": 40960, "interconnect": "pcie", "region": region, "simulated": simulated, "isolation": "gvisor", "status": "active", "tier": 1,
        "uptimePercent": "100", "reputationPercent": "100", "rating": "", "pricePerGpuHour": price, "score": 1, "requiredStake": "1", "checksPassed": 1,
        "checksTotal": 1, "jobsCompleted": 0, "jobsFailed": 0, "claimed": {"tflops": "1", "downMbps": 1, "upMbps": 1}, "cpuCores": cpus, "ramMib": ram,
        "diskGib": 200, "pendingFaults": 0, "registeredAt": 1, "verified": True, "feesOfCompletedLeases": "0",
    }  # fmt: skip


class Market:
    def __init__(self) -> None:
        self.offers: list[dict[str, Any]] = []
        self.bought: dict[str, dict[str, Any]] = {}  # by key
        self.status: dict[str, str] = {}  # of leases
        self.slow = 0  # answers that say that no machine is awarded yet
        self.start = "running"  # the status of a lease that is awarded
        self.refuse = 0  # the HTTP status of purchases
        self.refuse_after = False  # such a purchase has been awarded all the same
        self.listens = True

    def lease(self, address: str) -> dict[str, Any]:
        zero = {"awardedAt": 1, "reserved": "0", "paid": "0", "feeIncluded": "0", "paidSeconds": 0, "receiptSeconds": 0, "verifiedSeconds": 0}
        more = {"downtimeSeconds": 0, "usedSeconds": 0, "costAtMost": "0", "gpus": 1, "pricePerGpuHour": "1", "node": "N", "customer": "C"}
        return {**zero, **more, "address": address, "order": address.split("-")[0], "status": self.status[address]}

    def buy(self, key: str, body: dict[str, Any]) -> tuple[int, Any]:
        if self.refuse and not self.refuse_after:
            return self.refuse, {"title": "refused", "status": self.refuse, "detail": "no machine fits"}
        if key not in self.bought:
            self.bought[key] = {"order": f"Order{len(self.bought)}", "body": body}
        if self.bought[key]["body"] != body:
            return 422, {"title": "other", "status": 422, "detail": "the key stands for another request"}
        order = self.bought[key]["order"]
        if self.slow:
            self.slow -= 1
            return 202, {"idempotencyKey": key, "order": order, "phase": "buying", "leases": []}
        self.status.setdefault(f"{order}-0", self.start)
        if self.refuse:
            return self.refuse, {"title": "refused", "status": self.refuse, "detail": "the machine does not take the job"}
        phase = "bought" if self.status[f"{order}-0"] == "running" else "buying"
        return 201, {"idempotencyKey": key, "order": order, "phase": phase, "leases": [self.lease(f"{order}-0")]}

    def answer(self, method: str, path: str, key: str, body: Any) -> tuple[int, Any]:
        match method, path.split("?")[0].split("/")[2:]:
            case "GET", ["offers"]:
                return 200, {"offers": self.offers, "fit": len(self.offers), "unfit": {}, "at": 1}
            case "GET", ["leases"]:
                return 200, {"customer": "C", "leases": [self.lease(x) for x in self.status]}
            case "GET", ["why", of]:
                return 200, {"address": of, "kind": "lease", "reason": "job-done", "says": "its job has ended with 11"}
            case "POST", ["leases", address, "stop"]:
                if self.status[address] == "awarded":
                    return 409, {"title": "refused", "status": 409, "detail": "it has not started yet"}
                self.status[address] = "ended"
                return 200, self.lease(address)
            case "POST", ["leases", address, "forwards"]:
                if not self.listens:
                    return 409, {"title": "refused", "status": 409, "detail": f"nothing listens on port {body['port']}"}
                return 200, {"lease": address, "port": body["port"], "endpoint": "127.0.0.1:4711", "url": "http://127.0.0.1:4711/"}
            case "POST", ["orders"]:
                return self.buy(key, body)
        return 404, {"title": "unknown", "status": 404, "detail": path}


class Case(unittest.TestCase):
    """A test with a market, and the backend that buys there."""

    def setUp(self) -> None:
        self.market = market = Market()
        market.offers = [offer("A100-SXM4-40GB", "us-west-2", "1.30", gpus=2)]

        class Handler(http.server.BaseHTTPRequestHandler):
            def _do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers["Authorization"] == "Bearer secret":
                    status, said = market.answer(self.command, self.path, self.headers.get("Idempotency-Key", ""), json.loads(body or "null"))
                else:
                    status, said = 401, {"title": "who", "status": 401, "detail": "the token is wrong"}
                raw = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_DELETE = _do

            def log_message(self, *args: Any) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        for name in pathlib.Path(HOME.name, "server/gantry").glob("*"):
            name.unlink()
        self.url = f"http://127.0.0.1:{server.server_port}"

    def config(self, token: str = "secret", **order: Any) -> Any:
        from gantry_dstack.models import GantryConfig

        return GantryConfig(server=self.url, creds={"type": "token", "token": token}, order={"seconds": 3600, **order})

    def compute(self, **order: Any) -> Any:
        from gantry_dstack.compute import GantryCompute

        return GantryCompute(self.config(**order))


def requirements(**more: Any) -> Any:
    from dstack._internal.core.models.runs import Requirements

    resources = {"gpu": "A100:1", "disk": "50GB..", **more.pop("resources", {})}
    return Requirements.model_validate({"resources": resources, **more})


def job(**spec: Any) -> Any:
    """A try of a job, as dstack hands it over."""
    from dstack._internal.core.models.runs import Job

    now = datetime.datetime.now(datetime.UTC)
    common = {"job_num": 0, "job_name": "hello-0-0", "commands": ["true"], "env": {}, "image_name": "alpine", "requirements": requirements(), **spec}
    return Job.model_validate(
        {"job_spec": common, "job_submissions": [{"id": uuid.uuid4(), "submission_num": 0, "submitted_at": now, "last_processed_at": now, "status": "submitted"}]}
    )
