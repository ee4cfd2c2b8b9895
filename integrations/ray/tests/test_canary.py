"""What the provider uses of Ray that Ray does not promise. A new Ray that moves one of these names fails here, by its name."""

import importlib
import inspect
import unittest

import ray

PINNED = "2.60.0"

NAMES = {
    "ray.autoscaler.node_provider": ("NodeProvider",),
    "ray.autoscaler.node_launch_exception": ("NodeLaunchException",),
    "ray.autoscaler.tags": (
        "NODE_KIND_HEAD", "NODE_KIND_WORKER", "STATUS_UP_TO_DATE", "TAG_RAY_LAUNCH_CONFIG", "TAG_RAY_NODE_KIND", "TAG_RAY_NODE_NAME", "TAG_RAY_NODE_STATUS",
        "TAG_RAY_USER_NODE_TYPE",
    ),
    "ray._raylet": ("GcsClient", "InnerGcsClient"),
    "ray.autoscaler._private.constants": ("DISABLE_NODE_UPDATERS_KEY", "DISABLE_LAUNCH_CONFIG_CHECK_KEY", "WORKER_LIVENESS_CHECK_KEY"),
}  # fmt: skip


class Canary(unittest.TestCase):
    def test_the_version_is_the_pinned_one(self):
        self.assertEqual(ray.__version__, PINNED, "try the provider with this Ray, and change the pin in pyproject.toml, scripts/python/ray.txt and here")

    def test_the_names_are_there(self):
        moved = [f"{module}.{name}" for module, names in NAMES.items() for name in names if not hasattr(importlib.import_module(module), name)]
        self.assertEqual(moved, [], "Ray has moved what gantry_ray uses")

    def test_methods_have_the_parameters_that_are_used(self):
        from ray._raylet import InnerGcsClient  # GcsClient passes calls on to it
        from ray.autoscaler.node_provider import NodeProvider

        for name in ("bootstrap_config", "prepare_for_head_node", "terminate_nodes", "get_command_runner", "non_terminated_nodes", "create_node"):
            self.assertTrue(callable(getattr(NodeProvider, name, None)), f"Ray's NodeProvider has no {name} any more")
        self.assertEqual(list(inspect.signature(NodeProvider.get_command_runner).parameters)[1:4], ["log_prefix", "node_id", "auth_config"])
        for name in ("internal_kv_get", "internal_kv_put"):
            self.assertTrue(callable(getattr(InnerGcsClient, name, None)), f"Ray's GcsClient has no {name} any more")

    def test_ray_up_still_asks_for_the_first_autoscaler(self):
        from ray.autoscaler._private import commands

        self.assertIn("RAY_UP_enable_autoscaler_v2", inspect.getsource(commands.get_or_create_head_node), "ray up has another switch between its autoscalers")

    def test_the_autoscaler_drains_a_machine_before_the_provider_ends_it(self):
        from ray.autoscaler._private.autoscaler import StandardAutoscaler

        text = inspect.getsource(StandardAutoscaler.terminate_scheduled_nodes)
        self.assertLess(text.index("drain_nodes_via_gcs"), text.index("provider.terminate_nodes"), "member.py waits for Ray's end before it asks for its mark")


if __name__ == "__main__":
    unittest.main()
