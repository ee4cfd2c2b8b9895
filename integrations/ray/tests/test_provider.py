"""The provider without a market: settings, the record, and what both sides say. scripts/test.sh runs it where Ray is installed."""

import multiprocessing
import os
import stat
import types
import unittest
from tempfile import TemporaryDirectory
from unittest import mock

import gantry
from ray.autoscaler.node_launch_exception import NodeLaunchException

import gantry_ray
from gantry_ray import joined, record, rented, settings

HEAD = {"ray-node-type": "head", "ray-launch-config": "hash"}


def config(**order):
    return {
        "cluster_name": "farm",
        "provider": {
            "type": "external",
            "module": "gantry_ray.GantryNodeProvider",
            "order": {"gpu": "A100", "image": "ray", "seconds": 7200, **order},
            "session": "/keys/robot.json",
        },
        "available_node_types": {"head": {"resources": {}, "node_config": {}}, "worker": {"resources": {}, "node_config": {}, "max_workers": 2}},
        "head_node_type": "head",
    }


class Market:
    """The client of gantry serve, as far as the provider asks it."""

    def __init__(self):
        self.states, self.bought, self.stopped, self.fail = {}, [], [], None

    def cluster(self, key):
        if key not in self.states:
            raise gantry.Error("there is no such cluster", status=404)
        members = [
            types.SimpleNamespace(host=f"node-{i}", address=f"10.77.0.{i + 1}", lease=f"Lease{i}", status="ended" if f"Lease{i}" in self.stopped else "running")
            for i in range(3)
        ]
        return types.SimpleNamespace(state=self.states[key], members=members if self.states[key] == "running" else [])

    def create_cluster(self, **asked):
        self.bought.append(asked)
        if self.fail:
            raise self.fail
        self.states[asked["key"]] = "running"

    def stop(self, lease):
        self.stopped.append(lease)


class OnTheComputerOfTheUser(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.dict(os.environ, {"GANTRY_RAY_DIR": folder.name})
        patch.start()
        self.addCleanup(patch.stop)
        os.environ.pop("RAY_UP_enable_autoscaler_v2", None)
        self.market, self.folder = Market(), folder.name

    def provider(self):
        ready = settings.bootstrap(config())["provider"]
        return gantry_ray.GantryNodeProvider(ready, "farm", rented.Rented(ready, "farm", self.market))

    def test_one_order_has_all_machines(self):
        p = self.provider()
        self.assertEqual(p.non_terminated_nodes({}), [])
        p.create_node({}, HEAD, 1)
        (asked,) = self.market.bought
        self.assertEqual((asked["nodes"], asked["hours"], asked["run_to_completion"]), (3, 2, True))
        self.assertTrue(asked["order"]["sshKeys"][0].startswith("ssh-ed25519 "))
        self.assertEqual(p.non_terminated_nodes({"ray-node-type": "head"}), ["node-0"])
        self.assertEqual(p.non_terminated_nodes({"ray-node-type": "worker", "ray-user-node-type": "worker"}), ["node-1", "node-2"])
        self.assertEqual((p.internal_ip("node-1"), p.external_ip("node-1")), ("10.77.0.2", "gantry-Lease1"))
        with self.assertRaisesRegex(ValueError, "ray down"):
            p.create_node({}, HEAD, 1)
        with self.assertRaisesRegex(ValueError, "raise max_workers"):
            p.create_node({}, {"ray-node-type": "worker"}, 1)

    def test_tags_survive_a_restart(self):
        self.provider().create_node({}, HEAD, 1)
        self.provider().set_node_tags("node-0", {"ray-node-status": "up-to-date"})
        self.assertEqual(self.provider().node_tags("node-0"), {**HEAD, "ray-node-status": "up-to-date", "ray-user-node-type": "head"})
        for name in os.listdir(self.folder):
            if name.endswith(".json"):
                self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.folder, name)).st_mode), 0o600)

    def test_a_purchase_that_was_cut_off_goes_on(self):
        self.market.fail = OSError("cut off")
        with self.assertRaises(OSError):
            self.provider().create_node({}, HEAD, 1)
        first = self.market.bought[0]["key"]
        for state in (None, "buying", "starting"):
            if state:
                self.market.states[first] = state
            with self.assertRaises(OSError):
                self.provider().create_node({}, HEAD, 1)
            self.assertEqual(self.market.bought[-1]["key"], first, state)
        self.market.states[first], self.market.fail = "failed", None
        self.provider().create_node({}, HEAD, 1)
        self.assertNotEqual(self.market.bought[-1]["key"], first)

    def test_a_server_that_does_not_know_the_cluster_is_said(self):
        self.provider().create_node({}, HEAD, 1)
        self.market.states = {}
        with self.assertRaisesRegex(ValueError, "does not know"):
            self.provider().non_terminated_nodes({})

    def test_a_worker_ends_alone(self):
        p = self.provider()
        p.create_node({}, HEAD, 1)
        p.terminate_node("node-2")
        self.assertEqual(self.market.stopped, ["Lease2"])
        self.assertEqual((p.is_running("node-2"), p.is_terminated("node-2"), p.is_running("node-1")), (False, True, True))

    def test_openssh_reaches_a_lease_through_gantry(self):
        p = self.provider()
        p.create_node({}, HEAD, 1)
        login = p.side.login("node-0")
        self.assertEqual(login["ssh_proxy_command"], "gantry ssh-proxy --session /keys/robot.json Lease0")
        self.assertEqual(login["ssh_private_key"], os.path.join(self.folder, "id_ed25519"))
        self.assertEqual(rented.public_key(), rented.public_key())
        runner = p.get_command_runner("", "node-0", {}, "farm", None, False)
        self.assertEqual(runner.ssh_user, "gantry")

    def test_the_second_autoscaler_is_refused(self):
        os.environ["RAY_UP_enable_autoscaler_v2"] = "1"
        with self.assertRaisesRegex(ValueError, "does not know external providers"):
            self.provider()

    def test_two_commands_at_once_lose_no_tag(self):
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            pool.map(set_tag, range(20))
        self.assertEqual(len(record.Record("farm").read()["tags"]), 20)

    def test_a_name_that_is_a_path_is_refused(self):
        for name in ("../x", "", "a b", "x" * 33):
            with self.assertRaisesRegex(ValueError, "cluster_name"):
                record.Record(name)


def set_tag(i):
    with record.Record("farm").change() as content:
        content["tags"][f"node-{i}"] = {"set": "yes"}


class Settings(unittest.TestCase):
    def test_what_is_wrong_is_said_before_money_moves(self):
        def change(**fields):
            return lambda c: c.update(fields)

        for wrong, said in (
            (lambda c: c["provider"].pop("order"), "lacks gpu or image"),
            (lambda c: c["provider"]["order"].pop("image"), "lacks gpu or image"),
            (lambda c: c["provider"]["order"].update(nodes=4), "has nodes"),
            (lambda c: c["provider"]["order"].update(redundancy=3), "has redundancy"),
            (change(docker={"image": "x", "container_name": "y"}), "a container already"),
            (change(worker_setup_commands=["pip install x"]), "put what they need into the image"),
            (change(head_node_type="other"), "one node type for the head"),
            (lambda c: c["available_node_types"].update(third={}), "are alike"),
            (lambda c: c["available_node_types"]["worker"].update(max_workers=0), "at least one worker"),
            (change(max_workers=1), "would be bought"),
        ):
            c = config()
            wrong(c)
            with self.assertRaisesRegex(ValueError, said):
                settings.bootstrap(c)

    def test_the_head_is_told_no_secret(self):
        told = settings.for_head(settings.bootstrap(config()))
        self.assertNotIn("order", told["provider"])
        self.assertNotIn("session", told["provider"])
        self.assertEqual(told["auth"], {})
        self.assertTrue(told["provider"]["joined"] and told["provider"]["disable_node_updaters"])


class Values(dict):
    def internal_kv_get(self, key, namespace):
        return self.get((namespace, key))

    def internal_kv_put(self, key, value, overwrite, namespace):
        self[namespace, key] = value


class OnTheHead(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(os.environ, {"GANTRY_NUM_NODES": "3", "GANTRY_NODE_IP": "10.77.0.1"})
        patch.start()
        self.addCleanup(patch.stop)
        self.values = Values()
        told = settings.for_head(settings.bootstrap(config()))["provider"]
        self.provider = gantry_ray.GantryNodeProvider(told, "farm", joined.Joined(told, self.values))

    def test_members_are_nodes_until_they_are_given_back(self):
        self.assertEqual(self.provider.non_terminated_nodes({"ray-node-type": "worker"}), ["node-1", "node-2"])
        self.provider.terminate_nodes(["node-2"])
        self.assertEqual(self.provider.non_terminated_nodes({}), ["node-0", "node-1"])
        self.assertEqual(self.values, {(b"gantry", b"ended:node-2"): b"1"}, "member.py asks for this key")

    def test_the_head_buys_nothing(self):
        with self.assertRaises(NodeLaunchException) as e:
            self.provider.create_node({}, {}, 2)
        self.assertIn("the head holds no key", e.exception.description)

    def test_the_head_does_not_end_itself(self):
        with self.assertRaisesRegex(ValueError, "ray down"):
            self.provider.terminate_node("node-0")


if __name__ == "__main__":
    unittest.main()
