"""A gantry serve with machines in memory, which the real client asks over HTTP, and a home folder of SkyPilot."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import sys
import tempfile
import threading
import unittest
from typing import Any

import gantry_skypilot.hook  # noqa: F401  what gantry_skypilot.pth imports at the start of Python

#: SkyPilot reads paths in the home folder while it is imported.
HOME = tempfile.TemporaryDirectory()
os.environ.update(HOME=HOME.name, no_proxy="*", SKYPILOT_DISABLE_USAGE_COLLECTION="1")
os.environ.pop("GANTRY_SKYPILOT_CONFIG", None)
COMMON = pathlib.Path(HOME.name, ".sky/catalogs/v8/common")
COMMON.mkdir(parents=True)
# SkyPilot would fetch these from the internet.
(COMMON / "accelerators.csv").write_text("AcceleratorName,Clouds\nA100,\"['AWS']\"\nA100-80GB,\"['AWS']\"\nH100,\"['AWS']\"\n")
(COMMON / "metadata.csv").write_text("GPU,MemoryGB,Manufacturer\nA100,40,NVIDIA\n")


def offer(model: str, region: str, price: str, gpus: int = 1, free: int | None = None, cpus: int = 16, ram: int = 65536, simulated: bool = False) -> dict[str, Any]:
    return {
        "address": f"{model}{region}{price}", "provider": "P", "nodeKey": "K", "model": model, "gpus": gpus, "freeGpus": gpus if free is None else free,
        "vramMib": 40960, "interconnect": "pcie", "region": region, "simulated": simulated, "isolation": "gvisor", "status": "active", "tier": 1,
        "uptimePercent": "100", "reputationPercent": "100", "rating": "", "pricePerGpuHour": price, "score": 1, "requiredStake": "1", "checksPassed": 1,
        "checksTotal": 1, "jobsCompleted": 0, "jobsFailed": 0, "claimed": {"tflops": "1", "downMbps": 1, "upMbps": 1}, "cpuCores": cpus, "ramMib": ram,
        "diskGib": 100, "pendingFaults": 0, "registeredAt": 1, "verified": True, "feesOfCompletedLeases": "0",
    }  # fmt: skip


class Market:
    def __init__(self) -> None:
        self.offers: list[dict[str, Any]] = []
        self.bought: dict[str, dict[str, Any]] = {}  # by key
        self.status: dict[str, str] = {}  # of leases
        self.asked: list[str] = []
        self.slow = 0  # answers that say that the purchase is not complete yet
        self.refuse = 0  # the HTTP status of purchases

    def lease(self, address: str) -> dict[str, Any]:
        zero = {"awardedAt": 1, "reserved": "0", "paid": "0", "feeIncluded": "0", "paidSeconds": 0, "receiptSeconds": 0, "verifiedSeconds": 0}
        more = {"downtimeSeconds": 0, "usedSeconds": 0, "costAtMost": "0", "gpus": 1, "pricePerGpuHour": "1", "node": "N", "customer": "C"}
        return {**zero, **more, "address": address, "order": address.split("-")[0], "status": self.status[address]}

    def cluster(self, key: str) -> dict[str, Any]:
        order = self.bought[key]["order"]
        members = [
            {"place": i, "host": f"node-{i}", "address": f"10.77.0.{i + 1}", "lease": x, "node": "N", "status": self.status[x]}
            for i, x in enumerate(x for x in self.status if x.split("-")[0] == order)
        ]
        state = "buying" if self.slow else "running" if any(m["status"] == "running" for m in members) else "ended"
        common = {"costCap": "1", "maxPricePerGpuHour": "1", "seconds": 1, "createdAt": 1, "endpoint": None, "name": key, "order": order}
        return {**common, "state": state, "members": [] if self.slow else members}

    def buy(self, key: str, body: dict[str, Any]) -> None:
        if key not in self.bought:
            self.bought[key] = {"order": f"Order{len(self.bought)}", "body": body}
            for i in range(body["nodes"]):
                self.status[f"{self.bought[key]['order']}-{i}"] = "running"
        if self.bought[key]["body"] != body:
            raise ValueError("the key stands for another request")

    def answer(self, method: str, path: str, key: str, body: Any) -> tuple[int, Any]:
        self.asked.append(f"{method} {path}")
        match method, path.split("?")[0].split("/")[2:]:
            case "GET", ["offers"]:
                return 200, {"offers": self.offers, "fit": len(self.offers), "unfit": {}, "at": 1}
            case "GET", ["leases"]:
                return 200, {"customer": "C", "leases": [self.lease(x) for x in self.status]}
            case "POST", ["leases", address, "stop"]:
                self.status[address] = "ended"
                return 200, self.lease(address)
            case "POST", ["orders" | "clusters" as what]:
                if self.refuse:
                    return self.refuse, {"title": "refused", "status": self.refuse, "detail": "no machine fits"}
                self.buy(key, body)
                if what == "clusters":
                    now = self.cluster(key)
                    self.slow = max(0, self.slow - 1)
                    return 201, now
                order, runs = self.bought[key]["order"], not self.slow
                self.slow = max(0, self.slow - 1)
                return 201, {"idempotencyKey": key, "order": order, "phase": "bought" if runs else "buying", "leases": [self.lease(f"{order}-0")] if runs else []}
            case ("GET" | "DELETE") as how, ["clusters", key]:
                if key not in self.bought:
                    return 404, {"title": "unknown", "status": 404, "detail": "there is no such cluster"}
                if how == "DELETE":
                    self.status = {x: "ended" if x.split("-")[0] == self.bought[key]["order"] else s for x, s in self.status.items()}
                return 200, self.cluster(key)
        return 404, {"title": "unknown", "status": 404, "detail": path}


class Case(unittest.TestCase):
    """A test with a market, and settings that name it."""

    def setUp(self) -> None:
        self.market = market = Market()

        class Handler(http.server.BaseHTTPRequestHandler):
            def _do(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, said = market.answer(self.command, self.path, self.headers.get("Idempotency-Key", ""), json.loads(body or "null"))
                if self.headers["Authorization"] != "Bearer secret":
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
        for name in pathlib.Path(HOME.name, ".sky/gantry").glob("*"):
            name.unlink()
        self.home = pathlib.Path(HOME.name)
        (self.home / "token").write_text("secret\n")
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.settle()
        if live := getattr(sys.modules.get("gantry_skypilot.catalogue"), "live", None):
            live.forget()

    def settle(self, **order: Any) -> None:
        """Writes the settings. JSON is YAML."""
        found = {"server": self.url, "token_file": "~/token", "session": "~/session.json", "order": {"seconds": 3600, **order}}
        (self.home / ".sky/gantry.yaml").write_text(json.dumps(found))
