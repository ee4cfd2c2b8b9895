"""The machines of SkyPilot's clusters: leases of one order, bought through gantry serve. SkyPilot calls these functions."""

from __future__ import annotations

from typing import Any

from sky.provision import common
from sky.utils import status_lib

from . import catalogue, purchase, settings
from .members import members
from .settings import Refused

#: What the container does until it is ended.
WAIT = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"


def bootstrap_instances(region: str, cluster_name_on_cloud: str, config: common.ProvisionConfig) -> common.ProvisionConfig:
    return config


def run_instances(region: str, cluster_name: str, cluster_name_on_cloud: str, config: common.ProvisionConfig) -> common.ProvisionRecord:
    """Buys one order with all machines. What runs already is taken as it is."""
    before = members(cluster_name_on_cloud)
    if before and len(before) != config.count:
        raise Refused(f"{len(before)} of {config.count} machines of {cluster_name_on_cloud} run, and the machines of an order are bought together; run sky down first")
    if not before:
        purchase.buy(cluster_name_on_cloud, request(region, config))
        catalogue.live.forget()
    now = members(cluster_name_on_cloud)
    if len(now) != config.count:
        raise Refused(f"{len(now)} of {config.count} machines of {cluster_name_on_cloud} run; see gantry leases")
    old = {m.lease for m in before}
    return common.ProvisionRecord(
        provider_name="gantry",
        region=region,
        zone=None,
        cluster_name=cluster_name_on_cloud,
        head_instance_id=now[0].lease,
        resumed_instance_ids=[],
        created_instance_ids=[m.lease for m in now if m.lease not in old],
    )


def request(region: str, config: common.ProvisionConfig) -> dict[str, Any]:
    """The order of a cluster, by the fields of the HTTP API. What the user has set replaces what follows from the instance type."""
    node = config.node_config
    kind = catalogue.known(node["InstanceType"])
    share = {"cpus": kind.cpus, "memoryMiB": kind.memory * 1024, "maxPricePerGpuHour": node["MaxPricePerGpuHour"]}
    if node["DiskGB"]:
        share["diskMiB"] = node["DiskGB"] * 1000**3 // 1024**2
    return {
        **share,
        **settings.read()["order"],
        "gpu": kind.model,
        "count": kind.count,
        "nodes": config.count,
        "region": region,
        "image": node["Image"],
        "entrypoint": "/bin/sh",
        "command": ["-c", WAIT],
        "sshKeys": [node["PublicKey"].strip()],
    }


def wait_instances(region: str, cluster_name_on_cloud: str, state: status_lib.ClusterStatus | None) -> None:
    """run_instances returns when they run."""


def stop_instances(cluster_name_on_cloud: str, provider_config: dict[str, Any] | None = None, worker_only: bool = False) -> None:
    raise NotImplementedError("a lease cannot be stopped and continued later; run sky down")


def terminate_instances(cluster_name_on_cloud: str, provider_config: dict[str, Any] | None = None, worker_only: bool = False) -> None:
    if worker_only:
        raise NotImplementedError("the machines of an order end together; run sky down")
    purchase.end(cluster_name_on_cloud)


def query_instances(
    cluster_name: str,
    cluster_name_on_cloud: str,
    provider_config: dict[str, Any] | None = None,
    non_terminated_only: bool = True,
    retry_if_missing: bool = False,
) -> dict[str, tuple[status_lib.ClusterStatus | None, str | None]]:
    state = {True: status_lib.ClusterStatus.UP, False: status_lib.ClusterStatus.INIT}
    return {m.lease: (state[m.status == "running"], None) for m in members(cluster_name_on_cloud)}


def get_cluster_info(region: str, cluster_name_on_cloud: str, provider_config: dict[str, Any] | None = None) -> common.ClusterInfo:
    now = [m for m in members(cluster_name_on_cloud) if m.status == "running"]
    return common.ClusterInfo(
        instances={m.lease: [common.InstanceInfo(m.lease, internal_ip=m.address, external_ip=m.host(cluster_name_on_cloud), tags={}, node_name=m.lease)] for m in now},
        head_instance_id=now[0].lease if now and now[0].place == 0 else None,
        provider_name="gantry",
        provider_config=provider_config,
        # Ray would take the address by which it reaches the internet, and other machines do not reach that one.
        custom_ray_options={"node-ip-address": "${GANTRY_NODE_IP:-127.0.0.1}"},
    )


def open_ports(cluster_name_on_cloud: str, ports: list[str], provider_config: dict[str, Any] | None = None) -> None:
    raise NotImplementedError("the ports of a container are private; reach one with gantry port LEASE PORT")


def cleanup_ports(cluster_name_on_cloud: str, ports: list[str], provider_config: dict[str, Any] | None = None) -> None:
    """None were opened."""
