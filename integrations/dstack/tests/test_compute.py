"""Offers, purchases and the way to a machine, with a market in memory."""

import time
import unittest
from unittest import mock

import fake
from dstack._internal.core.errors import ComputeError, NoCapacityError, NotYetTerminated, ProvisioningError, ServerClientError
from dstack._internal.core.models.runs import JobProvisioningData
from fake import KEY, job, offer, requirements

from gantry_dstack import purchase, store, sweep
from gantry_dstack.configurator import GantryConfigurator
from gantry_dstack.models import GantryBackendConfig
from gantry_dstack.offers import gpu_name


class Offers(fake.Case):
    def listed(self, compute=None, **more):
        found = (compute or self.compute()).get_offers(requirements(**more), False, False)
        return [(o.instance.name, o.region, o.price) for o in found]

    def test_the_cheapest_machine_of_a_kind_is_the_price(self):
        self.market.offers = [
            offer("A100-SXM4-40GB", "us-west-2", "1.30", gpus=8, free=5, cpus=64, ram=8 * 65536),
            offer("A100-SXM4-40GB", "us-west-2", "1.20", gpus=8, free=2, cpus=64, ram=8 * 65536),
            offer("A100-SXM4-40GB", "eu-north-1", "1.10", gpus=4, cpus=64, ram=8 * 65536),
            offer("H100-SXM5-80GB", "us-west-2", "2.50"),
        ]
        small = {"resources": {"disk": "20GB.."}}
        self.assertEqual(self.listed(**small), [("1x-A100-SXM4-40GB-c16-m128-d50", "eu-north-1", 1.10), ("1x-A100-SXM4-40GB-c8-m64-d25", "us-west-2", 1.20)])
        self.assertEqual(self.listed(resources={"gpu": "A100:4", "disk": "20GB.."})[0], ("4x-A100-SXM4-40GB-c64-m512-d200", "eu-north-1", 4.40))
        self.assertEqual(self.listed(resources={"gpu": "A100:1", "memory": "100GB..", "disk": "20GB.."})[0][1], "eu-north-1")
        self.assertEqual(self.listed(max_price=1.15, **small), [("1x-A100-SXM4-40GB-c16-m128-d50", "eu-north-1", 1.10)])
        self.assertEqual(self.listed(resources={"gpu": "A100:1", "disk": "60GB.."}), [], "no share of a disk is that large")
        self.assertEqual(self.listed(resources={"gpu": "RTX4090:1"}), [])

    def test_names_are_those_of_dstack(self):
        import gpuhunt

        known = {g.name for g in gpuhunt.KNOWN_NVIDIA_GPUS}
        for model, name in (
            ("A100-SXM4-40GB", "A100"), ("A100-PCIe-80GB", "A100"), ("H100-SXM5-80GB", "H100"), ("H100-NVL-94GB", "H100NVL"), ("H200-SXM5-141GB", "H200"),
            ("RTX-4090", "RTX4090"), ("RTX 5090", "RTX5090"), ("L40S", "L40S"), ("V100-SXM2-32GB", "V100"), ("T4", "T4"), ("L4", "L4"),
        ):  # fmt: skip
            self.assertEqual(gpu_name(model), name)
            self.assertIn(name, known)

    def test_what_the_market_has_not_is_not_offered(self):
        self.assertEqual(len(self.listed()), 1)
        for wrong in ({"spot": True}, {"multinode": True}, {"reservation": "r"}):
            self.assertEqual(self.listed(**wrong), [], wrong)
        self.market.offers = [offer("A100-SXM4-40GB", "us-west-2", "1.30", simulated=True)]
        self.assertEqual(self.listed(), [])
        self.assertEqual(len(self.listed(self.compute(allowSimulated=True))), 1)

    def test_a_server_that_refuses_is_said(self):
        with self.assertRaisesRegex(ComputeError, "lists no machines: the token is wrong"):
            self.listed(self.compute_with("wrong"))

    def compute_with(self, token):
        from gantry_dstack.compute import GantryCompute

        return GantryCompute(self.config(token=token))


class Machines(fake.Case):
    def setUp(self):
        super().setUp()
        self.own = self.compute()
        patch = mock.patch.object(purchase, "AWAY", 0.2)
        patch.start()
        self.addCleanup(patch.stop)

    def run_job(self, of, compute=None, at=0, written=None):
        run = mock.Mock()
        run.run_spec.configuration.registry_auth = written
        found = list((compute or self.own).get_offers(of.job_spec.requirements, False, False))
        return (compute or self.own).run_job(run, of, found[at], KEY, "", [], None, of.job_spec.requirements, [KEY + " user"])

    def records(self):
        return [s.name for s in store.all_of()]

    def test_an_order_is_what_the_run_asks_for(self):
        of = job(image_name="pytorch/pytorch:2", requirements=requirements(resources={"shm_size": "8GB"}))
        made = self.run_job(of, self.compute(network="none", maxPricePerGpuHour="9"))
        ((key, bought),) = self.market.bought.items()
        body = bought["body"]
        self.assertTrue(key.startswith(f"dstack-{of.job_submissions[-1].id.hex}-") and len(key) <= 64)
        want = {
            "gpu": "A100-SXM4-40GB", "count": 1, "nodes": 1, "region": "us-west-2", "image": "pytorch/pytorch:2", "user": "root", "entrypoint": "/bin/sh",
            "runToCompletion": True, "cpus": 8, "memoryMiB": 32768, "diskMiB": 51200, "shmMiB": 8192, "network": "none", "maxPricePerGpuHour": "9", "seconds": 3600,
        }  # fmt: skip
        self.assertEqual({name: body[name] for name in want}, want)
        self.assertEqual(body["command"][0], "-c")
        self.assertIn(f"--ssh-authorized-key '{KEY}' --ssh-authorized-key '{KEY} user'", body["command"][1])
        self.assertLess(len(body["command"][1]), 4096)
        self.assertEqual((made.backend.value, made.username, made.dockerized, made.hostname, made.price), ("gantry", "root", False, None, 1.30))

    def test_an_image_that_is_not_public_has_its_account(self):
        of = job(registry_auth={"username": "u", "password": "p"})
        with self.assertRaisesRegex(ComputeError, "secrets.NAME"):
            self.run_job(of, written=mock.Mock(password="p"))
        self.assertEqual((self.market.bought, self.records()), ({}, []))
        self.run_job(of, written=mock.Mock(password="${{ secrets.TOKEN }}"))
        ((_, bought),) = self.market.bought.items()
        self.assertEqual((bought["body"]["registryUser"], bought["body"]["registryPassword"]), ("u", "p"))
        (name,) = self.records()
        self.assertEqual(store.Store(name).path.stat().st_mode & 0o077, 0, "others on this computer cannot read it")

    def test_a_second_call_buys_nothing(self):
        """dstack's server was killed before it had written that the machine is there."""
        of = job()
        first = self.run_job(of)
        self.market.offers.insert(0, offer("A100-SXM4-40GB", "eu-north-1", "1.00"))
        again = self.run_job(of)
        self.assertEqual(len(self.market.bought), 1)
        self.assertEqual((again.instance_id, again.region, again.price), (first.instance_id, "us-west-2", 1.30), "the offer is the one that was bought")
        self.run_job(job())
        self.assertEqual(len(self.market.bought), 2, "another try of a job is another purchase")

    def test_a_purchase_that_was_cut_off_goes_on(self):
        of = job()
        self.market.refuse = 500
        with self.assertRaisesRegex(ComputeError, "does not buy"):
            self.run_job(of)
        (name,) = self.records()
        key = store.Store(name).read()["key"]
        self.market.refuse = 0
        self.run_job(of)
        self.assertEqual(list(self.market.bought), [key])

    def test_a_token_that_has_ended_forgets_no_purchase(self):
        of = job()
        self.run_job(of)
        self.market.refuse = 403
        with self.assertRaises(ComputeError):
            self.run_job(of)
        self.assertEqual(len(self.records()), 1)

    def test_a_refused_purchase_leaves_nothing(self):
        self.market.refuse = 409
        of = job()
        with self.assertRaisesRegex(NoCapacityError, "no machine fits"):
            self.run_job(of)
        self.assertEqual((self.records(), self.market.status), ([], {}))
        self.market.refuse = 0
        self.run_job(of)
        self.assertEqual(len(self.market.bought), 1)

    def test_a_start_that_fails_ends_the_lease(self):
        for start, left in (("running", []), ("awarded", [1])):
            self.market.start, self.market.status, self.market.bought = start, {}, {}
            of = job()
            self.market.slow, self.market.refuse, self.market.refuse_after = 1, 0, False
            real = self.market.buy

            def fails(key, body, real=real):
                self.market.refuse, self.market.refuse_after = (0, False) if self.market.slow else (409, True)
                return real(key, body)

            with mock.patch.object(self.market, "buy", fails), self.assertRaisesRegex(NoCapacityError, "does not take the job"):
                self.run_job(of)
            self.market.refuse = 0
            self.assertEqual([1 for _ in self.records()], left)
            if left:  # it cannot be ended before it starts
                with self.assertRaises(NotYetTerminated):
                    self.run_job(of)
                self.assertEqual(len(self.market.bought), 1, "nothing more is bought until it has ended")
                self.market.status = {x: "running" for x in self.market.status}
                sweep.sweep(self.config(), since=time.time())
            self.assertEqual((self.records(), set(self.market.status.values())), ([], {"ended"}))

    def test_patience_ends(self):
        self.market.slow = 10**6
        with mock.patch.object(purchase, "PATIENCE", 0.2), self.assertRaisesRegex(ComputeError, "no machine was awarded"):
            self.run_job(job())
        self.assertEqual(len(self.records()), 1)

    def test_ssh_is_where_the_server_forwards_it(self):
        self.market.start, self.market.listens = "awarded", False
        made = self.run_job(job())
        self.own.update_provisioning_data(made, KEY, "")
        self.assertIsNone(made.hostname, "the image is fetched")
        self.market.status = {x: "running" for x in self.market.status}
        self.own.update_provisioning_data(made, KEY, "")
        self.assertIsNone(made.hostname, "the SSH server starts")
        self.market.listens = True
        self.own.update_provisioning_data(made, KEY, "")
        self.assertEqual((made.hostname, made.ssh_port), ("127.0.0.1", 4711))

    def test_a_machine_that_is_over_fails_the_job(self):
        made = self.run_job(job())
        self.market.status = {x: "ended" for x in self.market.status}
        with self.assertRaisesRegex(ProvisioningError, "its job has ended with 11"):
            self.own.update_provisioning_data(made, KEY, "")
        self.own.terminate_instance(made.instance_id, made.region)
        self.assertEqual(self.records(), [])

    def test_the_end_ends_the_lease(self):
        made = self.run_job(job())
        self.assertIsInstance(made, JobProvisioningData)
        other = self.run_job(job())
        self.own.terminate_instance(made.instance_id, made.region)
        self.assertEqual(self.market.status, {"Order0-0": "ended", "Order1-0": "running"})
        self.own.terminate_instance(made.instance_id, made.region)
        self.assertEqual(self.records(), [other.instance_id])

    def test_a_lease_that_has_not_started_is_ended_later(self):
        self.market.start = "awarded"
        made = self.run_job(job())
        with self.assertRaises(NotYetTerminated):
            self.own.terminate_instance(made.instance_id, made.region)
        self.market.status = {x: "running" for x in self.market.status}
        self.own.terminate_instance(made.instance_id, made.region)
        self.assertEqual(set(self.market.status.values()), {"ended"})

    def test_an_end_that_fails_is_tried_after_dstack_has_given_up(self):
        made = self.run_job(job())
        self.own.update_provisioning_data(made, KEY, "")
        real = self.market.answer
        with mock.patch.object(self.market, "answer", lambda *what: (502, {"title": "away", "status": 502, "detail": "the cluster does not answer"})):
            with self.assertRaisesRegex(ComputeError, "the cluster does not answer"):
                self.own.terminate_instance(made.instance_id, made.region)
            sweep.sweep(self.config(), since=time.time())
        self.assertEqual((self.market.answer, set(self.market.status.values())), (real, {"running"}))
        sweep.sweep(self.config(), since=time.time())
        self.assertEqual((self.records(), set(self.market.status.values())), ([], {"ended"}))

    def test_another_server_is_not_asked(self):
        made = self.run_job(job())
        saved = store.Store(made.instance_id)
        with saved.change() as content:
            content["server"] = "http://elsewhere"
        with self.assertRaisesRegex(ComputeError, "bought at http://elsewhere"):
            self.own.terminate_instance(made.instance_id, made.region)
        self.assertEqual(len(self.records()), 1)

    def test_what_dstack_has_forgotten_is_ended(self):
        made, known = self.run_job(job()), self.run_job(job())
        self.own.update_provisioning_data(known, KEY, "")
        now = time.time()
        sweep.sweep(self.config(), since=now)
        self.assertEqual(len(self.records()), 2, "dstack may still ask for it")
        for name in (made.instance_id, known.instance_id):
            with store.Store(name).change() as content:
                content["at"] = now - 2 * sweep.GRACE
        sweep.sweep(self.config(), since=now)
        self.assertEqual(len(self.records()), 2, "dstack's server has started just now")
        sweep.sweep(self.config(), since=now - 2 * sweep.GRACE)
        self.assertEqual(self.records(), [known.instance_id])
        self.assertEqual(self.market.status, {"Order0-0": "ended", "Order1-0": "running"})

    def test_what_is_not_done_is_refused_before_money_moves(self):
        with self.assertRaisesRegex(ComputeError, "volumes"):
            found = list(self.own.get_offers(requirements(), False, False))
            self.own.run_job(mock.Mock(), job(), found[0], KEY, "", [mock.Mock()], None, requirements(), [])
        self.assertEqual((self.market.bought, self.records()), ({}, []))


class Settings(fake.Case):
    def test_what_is_wrong_is_said(self):
        for order, said in (
            ({}, "lacks seconds"),
            ({"seconds": 60, "gpu": "A100"}, "follows from the run"),
            ({"untilStopped": True}, "without a budget"),
        ):
            with self.assertRaisesRegex(ValueError, said):
                GantryBackendConfig(order=order)
        self.assertEqual(GantryBackendConfig(order={"untilStopped": True, "budget": "5"}).order["seconds"], 3600)

    def test_the_server_is_asked(self):
        check = GantryConfigurator().validate_config
        check(self.config(), False)
        for config, said in (
            (self.config(token="wrong"), "the token is wrong"),
            (self.config(colour="red"), "colour, which an order does not have"),
            (self.config().model_copy(update={"server": "http://127.0.0.1:9"}), "does not answer"),
        ):
            with self.assertRaises(ServerClientError) as e:
                check(config, False)
            self.assertIn(said, str(e.exception) + getattr(e.exception, "msg", ""))

    def test_the_token_is_kept_apart(self):
        with mock.patch("gantry_dstack.sweep.begin") as begun:
            own = GantryConfigurator()
            record = own.create_backend("main", self.config())
            self.assertNotIn("secret", record.config)
            self.assertNotIn("secret", own.get_backend_config_without_creds(record).model_dump_json())
            self.assertEqual(own.get_backend_config_with_creds(record).creds.token, "secret")
            begun.assert_called_once()
            self.assertEqual(own.get_backend(record).compute().get_offers(requirements(spot=True), False, False).__length_hint__(), 0)


if __name__ == "__main__":
    unittest.main()
