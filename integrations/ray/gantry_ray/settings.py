"""The configuration of ray up: what is wrong with it is said before money moves, and what Ray wants is filled in."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from .places import PORT, START, Refused

#: Where the head finds this package.
MOUNT = "/tmp/gantry-ray"

#: Fields of an order that the provider sets.
OWN = ("nodes", "command", "entrypoint", "runToCompletion", "type", "redundancy")

DEFAULTS: dict[str, Any] = {
    "upscaling_speed": 1.0,
    "idle_timeout_minutes": 5,
    "docker": {},
    "initialization_commands": [],
    "setup_commands": [],
    "head_setup_commands": [],
    "worker_setup_commands": [],
    "worker_start_ray_commands": [],
    "cluster_synced_files": [],
    "file_mounts": {},
    "file_mounts_sync_continuously": False,
    "rsync_exclude": [],
    "rsync_filter": [],
    "auth": {},
}


def with_defaults(config: dict[str, Any]) -> dict[str, Any]:
    return {**copy.deepcopy(DEFAULTS), **config}


def bootstrap(config: dict[str, Any]) -> dict[str, Any]:
    """The whole configuration, from what the user has written."""
    config = with_defaults(copy.deepcopy(config))
    provider, types = config["provider"], config.get("available_node_types", {})
    order = provider.get("order")
    if not isinstance(order, dict) or not order.get("gpu") or not order.get("image"):
        raise Refused("provider.order lacks gpu or image; write the fields of an order of gantry serve, such as {gpu: A100, image: rayproject/ray:2.60.0-gpu}")
    if own := sorted(set(order) & set(OWN)):
        raise Refused(f"provider.order has {', '.join(own)}, which gantry_ray sets itself; leave it out")
    if config.get("docker"):
        raise Refused("there is a docker section, and a lease is a container already; name the image in provider.order.image")
    if config.get("worker_setup_commands") or config.get("worker_start_ray_commands"):
        raise Refused(
            "workers start Ray themselves, and Ray does not log in to them; put what they need into the image, and what the head needs into head_setup_commands"
        )
    head = config.get("head_node_type")
    workers = [name for name in types if name != head]
    if head not in types or len(workers) != 1:
        raise Refused("the machines of an order are alike; write one node type for the head and one for the workers, and head_node_type")
    count = types[workers[0]].get("max_workers", config.get("max_workers", 0))
    if count < 1:
        raise Refused(f"{workers[0]} has no max_workers; a cluster has at least one worker")
    if config.get("max_workers", count) < count:
        raise Refused(f"max_workers is {config['max_workers']}, and that of {workers[0]} is {count}; machines that Ray may not use would be bought")
    provider.update(machines=1 + count, head_type=head, worker_type=workers[0])
    # Workers join without the head's help, and one whose machine was replaced joins again.
    provider.update(disable_node_updaters=True, disable_launch_config_check=True, worker_liveness_check=False)
    config["max_workers"] = types[workers[0]]["max_workers"] = count
    config["file_mounts"] = {**config["file_mounts"], f"{MOUNT}/gantry_ray/": str(Path(__file__).parent) + "/"}
    commands = config.get("head_start_ray_commands") or [
        "ray stop",
        f"ray start --head --port={PORT} --node-ip-address=$GANTRY_NODE_IP --num-gpus=${{GANTRY_GPU_COUNT:-0}} ${{GANTRY_CPUS:+--num-cpus=$GANTRY_CPUS}} "
        f"--dashboard-host=127.0.0.1 {START} {provider.get('head_flags', '')} --autoscaling-config=~/ray_bootstrap_config.yaml",
    ]
    path = f"export PYTHONPATH={MOUNT}${{PYTHONPATH:+:$PYTHONPATH}} RAY_enable_autoscaler_v2=0 RAY_USAGE_STATS_ENABLED=${{RAY_USAGE_STATS_ENABLED:-0}}; "
    config["head_start_ray_commands"] = [path + c for c in commands]
    return config


def for_head(config: dict[str, Any]) -> dict[str, Any]:
    """What the head is told: neither the order, nor the server, nor a key."""
    config = copy.deepcopy(config)
    kept = ("type", "module", "head_type", "worker_type", "disable_node_updaters", "disable_launch_config_check", "worker_liveness_check")
    config["provider"] = {name: config["provider"][name] for name in kept} | {"joined": True}
    config["auth"], config["file_mounts"] = {}, {}
    return config
