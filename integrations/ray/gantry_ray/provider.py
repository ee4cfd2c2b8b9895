"""The node provider that a configuration of Ray names: provider: {type: external, module: gantry_ray.GantryNodeProvider}."""

from __future__ import annotations

from typing import Any

from ray.autoscaler.node_provider import NodeProvider

from . import settings


class GantryNodeProvider(NodeProvider):
    """Nodes are the places of an order's private network: node-0 is the head. A place keeps its name and address when another
    machine takes it. On the user's computer they are leases; on the head they are the members that have joined it."""

    def __init__(self, provider_config: dict[str, Any], cluster_name: str, side: Any = None) -> None:
        super().__init__(provider_config, cluster_name)
        if side is None and provider_config.get("joined"):
            from .joined import Joined  # the head has no client of the market

            side = Joined(provider_config)
        elif side is None:
            from .rented import Rented

            side = Rented(provider_config, cluster_name)
        self.side = side

    @staticmethod
    def fillout_available_node_types_resources(cluster_config: dict[str, Any]) -> dict[str, Any]:
        """Ray calls this before it checks that the fields are there. It has defaults for its own clouds alone."""
        return settings.with_defaults(cluster_config)

    @staticmethod
    def bootstrap_config(cluster_config: dict[str, Any]) -> dict[str, Any]:
        return settings.bootstrap(cluster_config)

    def prepare_for_head_node(self, cluster_config: dict[str, Any]) -> dict[str, Any]:
        return settings.for_head(cluster_config)

    def non_terminated_nodes(self, tag_filters: dict[str, str]) -> list[str]:
        return self.side.alive(tag_filters)

    def is_running(self, node_id: str) -> bool:
        return node_id in self.side.alive({})

    def is_terminated(self, node_id: str) -> bool:
        return not self.is_running(node_id)

    def node_tags(self, node_id: str) -> dict[str, str]:
        return self.side.tags(node_id)

    def set_node_tags(self, node_id: str, tags: dict[str, str]) -> None:
        self.side.set_tags(node_id, tags)

    def external_ip(self, node_id: str) -> str:
        return self.side.external_ip(node_id)

    def internal_ip(self, node_id: str) -> str:
        return self.side.internal_ip(node_id)

    def create_node(self, node_config: dict[str, Any], tags: dict[str, str], count: int) -> None:
        self.side.create(tags, count)

    def terminate_node(self, node_id: str) -> None:
        self.side.end([node_id])

    def terminate_nodes(self, node_ids: list[str]) -> None:
        self.side.end(list(node_ids))

    def get_command_runner(self, log_prefix: str, node_id: str, auth_config: dict[str, Any], *args: Any, **options: Any) -> Any:
        """OpenSSH through gantry. The key is not in the configuration: Ray would copy it to the head."""
        return super().get_command_runner(log_prefix, node_id, {**auth_config, **self.side.login(node_id)}, *args, **options)
