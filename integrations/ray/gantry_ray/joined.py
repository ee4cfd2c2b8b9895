"""The machines as the autoscaler on the head sees them. The head holds no key: it reaches no server and buys nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

from ray._raylet import GcsClient
from ray.autoscaler.node_launch_exception import NodeLaunchException
from ray.autoscaler.tags import (
    NODE_KIND_HEAD,
    NODE_KIND_WORKER,
    STATUS_UP_TO_DATE,
    TAG_RAY_NODE_KIND,
    TAG_RAY_NODE_NAME,
    TAG_RAY_NODE_STATUS,
    TAG_RAY_USER_NODE_TYPE,
)

from .places import HEAD, NAMESPACE, PORT, Refused, mark, matches


class Joined:
    """The members of the order, which start Ray themselves. Tags that Ray sets are kept in memory: they follow from the place."""

    def __init__(self, config: Mapping[str, Any], gcs: Any = None) -> None:
        size = int(os.environ["GANTRY_NUM_NODES"])
        self._gcs = GcsClient(address=f"{os.environ['GANTRY_NODE_IP']}:{PORT}") if gcs is None else gcs
        types = {True: config["head_type"], False: config["worker_type"]}
        self._tags: dict[str, dict[str, str]] = {}
        for place in (f"node-{i}" for i in range(size)):
            self._tags[place] = {
                TAG_RAY_NODE_KIND: NODE_KIND_HEAD if place == HEAD else NODE_KIND_WORKER,
                TAG_RAY_USER_NODE_TYPE: types[place == HEAD],
                TAG_RAY_NODE_STATUS: STATUS_UP_TO_DATE,
                TAG_RAY_NODE_NAME: place,
            }

    def alive(self, filters: Mapping[str, str]) -> list[str]:
        return [place for place, tags in self._tags.items() if matches(tags, dict(filters)) and not self._given_back(place)]

    def _given_back(self, place: str) -> bool:
        return self._gcs.internal_kv_get(mark(place), NAMESPACE) is not None

    def tags(self, place: str) -> dict[str, str]:
        return dict(self._tags[place])

    def set_tags(self, place: str, tags: Mapping[str, str]) -> None:
        self._tags[place].update(tags)

    def internal_ip(self, place: str) -> str:
        return socket.gethostbyname(place)

    external_ip = internal_ip

    def create(self, tags: Mapping[str, str], count: int) -> None:
        raise NodeLaunchException(
            "OrderIsWhole",
            f"{count} more machines cannot be bought from here: the head holds no key, and machines that were given back do not come back. "
            "Run ray down, and ray up with as many workers as you need, or raise idle_timeout_minutes",
            None,
        )

    def end(self, places: list[str]) -> None:
        """Marks the machines. Their containers end by the mark, and the machine ends the lease of a job that is done."""
        for place in places:
            if place == HEAD:
                raise Refused("the head does not end itself; run ray down on your computer")
            self._gcs.internal_kv_put(mark(place), b"1", True, NAMESPACE)
