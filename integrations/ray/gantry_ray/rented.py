"""The machines as ray up and ray down see them, on the computer of the user: leases of one order, bought through gantry serve."""

from __future__ import annotations

import functools
import os
import shlex
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gantry
from ray.autoscaler.tags import NODE_KIND_HEAD, NODE_KIND_WORKER, TAG_RAY_NODE_KIND, TAG_RAY_USER_NODE_TYPE

from .places import HEAD, PORT, START, Refused, matches
from .record import Record, folder


class Rented:
    def __init__(self, config: Mapping[str, Any], cluster: str, client: Any = None) -> None:
        # Ray's second autoscaler, its default, does not know external providers.
        if os.environ.setdefault("RAY_UP_enable_autoscaler_v2", "0") != "0":
            raise Refused("RAY_UP_enable_autoscaler_v2 is set, and Ray's autoscaler v2 does not know external providers; unset it")
        self._config, self._record, self._given = config, Record(cluster), client

    @functools.cached_property
    def _client(self) -> Any:
        return self._given or gantry.Client(self._config.get("server"))

    def _members(self) -> list[Any]:
        """Those that run or start, by their places."""
        content = self._record.read()
        if not content["key"]:
            return []
        return self._record.members(self._client, content)

    def _member(self, place: str) -> Any:
        for m in self._members():
            if m.host == place:
                return m
        raise Refused(f"{place} does not run any more; ray up starts a new cluster")

    def alive(self, filters: Mapping[str, str]) -> list[str]:
        return [m.host for m in self._members() if matches(self.tags(m.host), dict(filters))]

    def tags(self, place: str) -> dict[str, str]:
        own = {
            TAG_RAY_NODE_KIND: NODE_KIND_HEAD if place == HEAD else NODE_KIND_WORKER,
            TAG_RAY_USER_NODE_TYPE: self._config["head_type"] if place == HEAD else self._config["worker_type"],
        }
        return {**own, **self._record.read()["tags"].get(place, {})}

    def set_tags(self, place: str, tags: Mapping[str, str]) -> None:
        with self._record.change() as content:
            content["tags"].setdefault(place, {}).update(tags)

    def internal_ip(self, place: str) -> str:
        return str(self._member(place).address)

    def external_ip(self, place: str) -> str:
        """A name for OpenSSH, which reaches the container by a command and not by an address."""
        return "gantry-" + str(self._member(place).lease)

    def create(self, tags: Mapping[str, str], count: int) -> None:
        """Buys the head's machine and all workers' at once: the head could not buy them later, as it holds no key."""
        if tags.get(TAG_RAY_NODE_KIND) != NODE_KIND_HEAD or count != 1:
            raise Refused("workers come with the head, in one order; raise max_workers, run ray down and then ray up")
        if self._members():
            raise Refused("machines of this cluster still run, without a head; run ray down first")
        with self._record.change() as content:
            if not self._goes_on(content["key"]):
                content["key"] = f"ray-{self._record.path.stem}-{uuid.uuid4().hex[:8]}"
            content["tags"], content["bought"] = {HEAD: dict(tags)}, False
            key = content["key"]  # known before money moves: a purchase that is cut off goes on with the next ray up
        order = dict(self._config["order"])
        member = Path(__file__).with_name("member.py").read_text()
        run = 'exec "$(command -v python3 || command -v python)" -c "$@"'
        self._client.create_cluster(
            gpu_type=order.pop("gpu"),
            nodes=self._config["machines"],
            key=key,
            run_to_completion=True,  # so that a machine which Ray gives back ends its lease
            command=["-c", run, "gantry-ray", member, f"{HEAD}:{PORT}", *START.split()],
            order={"entrypoint": "/bin/sh", **order, "sshKeys": [*order.get("sshKeys", []), public_key()]},
            hours=order.get("seconds", 3600) / 3600,
        )
        with self._record.change() as content:
            content["bought"] = True

    def _goes_on(self, key: str) -> bool:
        """Whether a purchase that was cut off can be continued."""
        if not key:
            return False
        try:
            return str(self._client.cluster(key).state) in ("buying", "starting")
        except gantry.Error as e:
            if e.status == 404:
                return True  # nothing was sent yet, and the key is unused
            raise

    def end(self, places: list[str]) -> None:
        """Ends leases. Without its head nothing is left of a cluster, and all of its leases end."""
        if HEAD not in places:
            for place in places:
                self._client.stop(self._member(place).lease)
            return
        gantry.Cluster(self._client, "", self._record.read()["key"], [], None, self._members()).down()
        with self._record.change() as content:
            content.update(key="", tags={}, bought=False)

    def login(self, place: str) -> dict[str, str]:
        """How OpenSSH reaches a container."""
        words = [*shlex.split(self._config.get("gantry", "gantry")), "ssh-proxy"]
        if session := self._config.get("session"):
            words += ["--session", str(Path(session).expanduser())]
        words.append(str(self._member(place).lease))
        return {"ssh_user": "gantry", "ssh_private_key": str(private_key()), "ssh_proxy_command": shlex.join(words).replace("%", "%%")}


def private_key() -> Path:
    """A key for containers of Ray's clusters alone. Your own keys tell a stranger who you are."""
    path = folder() / "id_ed25519"
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        made = path.with_name(f"{path.name}.{os.getpid()}")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "gantry-ray", "-f", str(made)], check=True)
        made.with_name(made.name + ".pub").replace(path.with_suffix(".pub"))
        made.replace(path)
    return path


def public_key() -> str:
    return private_key().with_suffix(".pub").read_text().strip()
