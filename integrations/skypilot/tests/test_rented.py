"""Purchases, machines and the way to them, with a market in memory."""

import json
import subprocess
import sys
import unittest

import fake
import gantry
import sky
from sky.provision import common
from sky.utils import registry, status_lib

from gantry_skypilot import proxy, purchase, rented, settings, store

NAME = "hello-1a2b"


def config(count=2, **node):
    node = {"InstanceType": "1x-A100-SXM4-40GB-c8-m64", "Image": "alpine", "MaxPricePerGpuHour": "1.300000", "DiskGB": 0, "PublicKey": "ssh-ed25519 A sky\n", **node}
    return common.ProvisionConfig({}, {}, {}, node, count, {}, True, None)


def launch(count=2, **node):
    return rented.run_instances("us-west-2", "hello", NAME, config(count, **node))


class Rented(fake.Case):
    def test_one_order_has_all_machines(self):
        made = launch()
        ((key, bought),) = self.market.bought.items()
        self.assertRegex(key, f"^sky-{NAME}-[0-9a-f]{{8}}$")
        self.assertEqual(
            {name: bought["body"][name] for name in ("gpu", "count", "nodes", "region", "image", "maxPricePerGpuHour", "seconds", "cpus", "memoryMiB", "sshKeys")},
            {"gpu": "A100-SXM4-40GB", "count": 1, "nodes": 2, "region": "us-west-2", "image": "alpine", "maxPricePerGpuHour": "1.300000", "seconds": 3600,
             "cpus": 8, "memoryMiB": 65536, "sshKeys": ["ssh-ed25519 A sky"]},
        )  # fmt: skip
        self.assertEqual((made.head_instance_id, made.created_instance_ids), ("Order0-0", ["Order0-0", "Order0-1"]))
        info = rented.get_cluster_info("us-west-2", NAME)
        self.assertEqual(info.ip_tuples(), [("10.77.0.1", f"node-0.{NAME}.gantry"), ("10.77.0.2", f"node-1.{NAME}.gantry")])
        self.assertEqual(rented.query_instances("hello", NAME), {f"Order0-{i}": (status_lib.ClusterStatus.UP, None) for i in (0, 1)})

    def test_a_second_launch_buys_nothing(self):
        launch()
        self.assertEqual(launch().created_instance_ids, [])
        self.assertEqual(len(self.market.bought), 1)
        with self.assertRaisesRegex(settings.Refused, "bought together"):
            launch(3)

    def test_one_machine(self):
        self.market.slow = 2
        self.assertEqual(launch(1).created_instance_ids, ["Order0-0"])
        self.assertEqual(rented.get_cluster_info("us-west-2", NAME).ip_tuples(), [("127.0.0.1", f"node-0.{NAME}.gantry")])
        rented.terminate_instances(NAME)
        self.assertEqual((self.market.status, rented.query_instances("hello", NAME)), ({"Order0-0": "ended"}, {}))
        rented.terminate_instances(NAME)

    def test_settings_come_before_the_instance_type(self):
        self.settle(maxPricePerGpuHour="9", cpus=2, network="none")
        launch(DiskGB=100)
        (bought,) = self.market.bought.values()
        self.assertEqual({k: bought["body"][k] for k in ("maxPricePerGpuHour", "cpus", "network", "diskMiB")},
                         {"maxPricePerGpuHour": "9", "cpus": 2, "network": "none", "diskMiB": 95367})  # fmt: skip

    def test_all_machines_end(self):
        launch()
        rented.terminate_instances(NAME)
        self.assertEqual(set(self.market.status.values()), {"ended"})
        self.assertEqual(store.Store(NAME).read(), {})
        self.assertNotEqual(launch().head_instance_id, "Order0-0", "a new cluster is a new order")

    def test_a_refused_purchase_leaves_nothing(self):
        self.market.refuse = 409
        for count in (1, 2):
            with self.assertRaisesRegex(gantry.Error, "no machine fits"):
                launch(count)
            self.assertEqual(store.Store(NAME).read(), {})
            rented.terminate_instances(NAME)

    def test_a_purchase_that_was_cut_off_goes_on(self):
        for count in (1, 2):
            self.market.refuse = 500
            with self.assertRaises(gantry.Error):
                launch(count)
            key = store.Store(NAME).read()["key"]
            self.market.refuse = 0
            with self.assertRaisesRegex(settings.Refused, "was cut off"):
                launch(count, Image="other")
            launch(count)
            self.assertEqual(list(self.market.bought)[-1], key)
            rented.terminate_instances(NAME)

    def test_a_purchase_that_was_cut_off_is_ended(self):
        """The order of one machine could be awarded after sky down."""
        self.market.slow = 1
        with store.Store(NAME).change() as content:
            content.update(key="sky-cut", request=rented.request("us-west-2", config(1)))
        rented.terminate_instances(NAME)
        self.assertEqual(self.market.status, {"Order0-0": "ended"})

    def test_a_server_that_does_not_know_the_purchase_is_said(self):
        launch()
        self.market.bought.clear()
        for ask in (lambda: rented.query_instances("hello", NAME), lambda: rented.terminate_instances(NAME)):
            with self.assertRaisesRegex((settings.Refused, gantry.Error), "does not know|no such cluster"):
                ask()

    def test_a_machine_that_is_over_is_missing(self):
        launch()
        self.market.status["Order0-1"] = "ended"
        self.assertEqual(list(rented.query_instances("hello", NAME)), ["Order0-0"])

    def test_the_proxy_finds_the_lease_of_now(self):
        launch()
        self.assertEqual(proxy.lease(f"node-1.{NAME}.gantry"), "Order0-1")
        self.assertEqual(settings.proxy("X"), ["gantry", "ssh-proxy", "--session", str(self.home / "session.json"), "X"])
        for wrong in ("node-2." + NAME + ".gantry", "node-0.other.gantry", "example.org", "node-0.../x.gantry"):
            with self.assertRaises(settings.Refused):
                proxy.lease(wrong)

    def test_the_proxy_does_without_sky(self):
        """Each command of SkyPilot starts it anew, and sky takes seconds."""
        program = "import sys, gantry_skypilot.proxy; sys.exit('sky' in sys.modules)"
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_the_cluster_file_has_key_and_proxy_and_no_credentials(self):
        from sky.backends import backend_utils
        from sky.utils import yaml_utils

        path = self.home / "cluster.yaml"
        path.write_text(json.dumps({"auth": {"ssh_user": "gantry"}, "node": "skypilot:ssh_public_key_content"}))
        gantry_cloud = registry.CLOUD_REGISTRY.from_str("gantry")
        backend_utils._add_auth_to_cluster_config(gantry_cloud, str(path))
        self.assertTrue(yaml_utils.read_yaml(str(path))["node"].startswith("ssh-"))
        self.assertEqual(gantry_cloud.get_credential_file_mounts(), {})
        path.write_text("{}")
        with self.assertRaises(AssertionError):  # SkyPilot's own function is asked for other clouds
            backend_utils._add_auth_to_cluster_config(sky.clouds.DummyCloud(), str(path))


class Settings(fake.Case):
    def test_what_is_wrong_is_said(self):
        for wrong, said in (
            ({"order": {}}, "lacks seconds"),
            ({"order": {"seconds": 60, "gpu": "A100"}}, "follows from the task"),
            ({"order": {"seconds": 60, "colour": "red"}}, "colour, which an order does not have"),
            ({"order": {"untilStopped": True}}, "without a budget"),
            ({"order": {"seconds": 60}, "servr": "x"}, "servr, which is not a setting"),
            ([1], "other content"),
        ):
            (self.home / ".sky/gantry.yaml").write_text(json.dumps(wrong))
            with self.assertRaisesRegex(settings.Refused, said):
                settings.read()

    def test_a_name_that_is_a_path_is_refused(self):
        for name in ("../x", "", "a b", "x" * 65):
            with self.assertRaisesRegex(settings.Refused, "cannot be used"):
                store.Store(name)

    def test_patience_ends(self):
        self.market.slow = 10**6
        self.addCleanup(setattr, purchase, "PATIENCE", purchase.PATIENCE)
        purchase.PATIENCE = 0.2
        with self.assertRaisesRegex(settings.Refused, "do not run after"):
            launch(1)


if __name__ == "__main__":
    unittest.main()
