"""The catalogue and the optimizer of the real SkyPilot, with the offers of a market in memory."""

import unittest
from unittest import mock

import fake
import sky
from fake import offer
from sky import catalog, exceptions
from sky.utils import registry

from gantry_skypilot import catalogue, settings


def task(**resources):
    resources = {"cloud": registry.CLOUD_REGISTRY.from_str("gantry"), "image_id": "docker:alpine", **resources}
    made = sky.Task(run="true")
    made.set_resources(sky.Resources(**resources))
    return made


class Catalogue(fake.Case):
    def setUp(self):
        super().setUp()
        self.market.offers = [
            offer("A100-SXM4-40GB", "us-west-2", "1.30", gpus=8, free=5, cpus=64, ram=8 * 65536),
            offer("A100-SXM4-40GB", "us-west-2", "1.20", gpus=8, free=2, cpus=64, ram=8 * 65536),
            offer("A100-SXM4-80GB", "eu-north-1", "1.90"),
            offer("RTX 5090", "us-west-2", "0.50"),
            offer("H100-SXM5-80GB", "us-west-2", "2.50", simulated=True),
        ]

    def test_the_cheapest_machine_is_the_price(self):
        self.assertEqual(catalog.get_hourly_cost("1x-A100-SXM4-40GB-c8-m64", False, "us-west-2", None, clouds="gantry"), 1.20)
        self.assertEqual(catalog.get_hourly_cost("4x-A100-SXM4-40GB-c32-m256", False, None, None, clouds="gantry"), 5.20)
        self.assertEqual(
            sorted(t["InstanceType"] for t in catalogue.rows(self.offers(), False)),
            ["1x-A100-SXM4-40GB-c8-m64", "1x-A100-SXM4-80GB-c16-m64", "1x-RTX_5090-c16-m64", "2x-A100-SXM4-40GB-c16-m128", "4x-A100-SXM4-40GB-c32-m256",
             "5x-A100-SXM4-40GB-c40-m320"],
        )  # fmt: skip

    def offers(self):
        return settings.client().offers("", limit=1000).offers

    def test_names_are_those_of_skypilot(self):
        for model, name in (
            ("A100-SXM4-40GB", "A100"), ("A100-PCIe-80GB", "A100-80GB"), ("H100-SXM5-80GB", "H100"), ("H100-NVL-94GB", "H100-NVL"), ("RTX-4090", "RTX4090"),
            ("RTX 5090", "RTX5090"), ("L40S", "L40S"), ("V100-SXM2-32GB", "V100-32GB"), ("V100-SXM2-16GB", "V100"), ("GH200-480GB", "GH200"),
        ):  # fmt: skip
            kind = catalogue.Type(2, model, 8, 64)
            self.assertEqual(kind.accelerator, name)
            self.assertEqual(catalogue.parse(str(kind)), kind)

    def test_sky_lists_what_is_offered(self):
        found = catalog.list_accelerators(clouds="gantry", all_regions=True)
        self.assertEqual(sorted(found), ["A100", "A100-80GB", "RTX5090"])
        self.assertEqual([(x.accelerator_count, x.price, x.region) for x in found["A100-80GB"]], [(1, 1.90, "eu-north-1")])

    def test_simulated_machines_are_asked_for(self):
        self.assertNotIn("H100", catalog.list_accelerators(clouds="gantry"))
        self.settle(allowSimulated=True)
        catalogue.live.forget()
        self.assertIn("H100", catalog.list_accelerators(clouds="gantry"))

    def test_a_cluster_that_runs_keeps_its_price(self):
        name = "1x-A100-SXM4-80GB-c16-m64"
        self.assertEqual(catalog.get_hourly_cost(name, False, "eu-north-1", None, clouds="gantry"), 1.90)
        self.market.offers = []
        catalogue.live.forget()
        self.assertEqual(catalog.get_hourly_cost(name, False, "eu-north-1", None, clouds="gantry"), 1.90)
        self.assertEqual(catalog.get_accelerators_from_instance_type(name, clouds="gantry"), {"A100-80GB": 1})
        self.assertEqual(catalog.get_vcpus_mem_from_instance_type(name, clouds="gantry"), (16, 64))
        self.assertEqual(catalogue.get_region_zones_for_instance_type(name, False), [], "nothing is offered")

    def test_a_server_that_is_away_breaks_no_list(self):
        self.settle()
        (self.home / "token").write_text("wrong")
        with self.assertLogs(catalogue.logger.name, "WARNING") as said:
            self.assertEqual(catalog.list_accelerators(clouds="gantry"), {})
        self.assertIn("the token is wrong", said.output[0])
        with self.assertRaisesRegex(Exception, "the token is wrong"):
            catalog.get_hourly_cost("1x-A100-SXM4-40GB-c8-m64", False, None, None, clouds="gantry")


class Optimizer(fake.Case):
    def setUp(self):
        super().setUp()
        self.market.offers = [
            offer("A100-SXM4-40GB", "us-west-2", "1.30", gpus=4, cpus=32, ram=4 * 65536), offer("A100-SXM4-40GB", "eu-north-1", "1.10", cpus=4, ram=16384),
        ]  # fmt: skip
        from sky import global_user_state
        from sky.clouds import CloudCapability

        global_user_state.set_enabled_clouds(["gantry"], CloudCapability.COMPUTE, "default")

    def best(self, **resources):
        from sky import optimizer

        made = task(**resources)
        with sky.Dag() as dag:
            dag.add(made)
        optimizer.Optimizer.optimize(dag, quiet=True)
        return made.best_resources

    def test_the_cheapest_is_chosen(self):
        best = self.best(accelerators="A100:1")
        self.assertEqual((str(best.cloud), best.instance_type, best.region), ("Gantry", "1x-A100-SXM4-40GB-c4-m16", "eu-north-1"))

    def test_cores_and_memory_are_asked_for(self):
        best = self.best(accelerators="A100:1", cpus="8+", memory="60+")
        self.assertEqual((best.instance_type, best.region), ("1x-A100-SXM4-40GB-c8-m64", "us-west-2"))

    def test_several_gpus(self):
        self.assertEqual(self.best(accelerators="A100:4").instance_type, "4x-A100-SXM4-40GB-c32-m256")

    def test_what_is_not_there_is_said(self):
        for wrong in ({"accelerators": "H100:1"}, {"accelerators": "A100:8"}, {"accelerators": "A100:1", "max_hourly_cost": 1.0}):
            with self.assertRaises(exceptions.ResourcesUnavailableError, msg=wrong):
                self.best(**wrong)

    def test_what_the_cloud_does_not_do_is_refused(self):
        for wrong, said in (
            ({"use_spot": True}, "no spot price"),
            ({"ports": 8080}, "ports of a container are private"),
            ({"image_id": "ami-1"}, "image_id is only supported"),
        ):
            with self.assertRaises((exceptions.ResourcesUnavailableError, exceptions.NotSupportedError, ValueError)) as e:
                self.best(accelerators="A100:1", **wrong)
            self.assertRegex(str(e.exception), said)

    def test_each_refusal_has_a_reason(self):
        gantry = registry.CLOUD_REGISTRY.from_str("gantry")
        resources = sky.Resources(cloud=gantry, accelerators="A100:1", image_id="docker:alpine")
        from gantry_skypilot.cloud import REFUSED

        for feature, reason in REFUSED.items():
            if feature.value == "image_id":
                continue  # asked for with each docker image too
            with self.assertRaises(exceptions.NotSupportedError) as e:
                gantry.check_features_are_supported(resources, {feature})
            self.assertIn(reason[:25], str(e.exception).replace("\n", " "))

    def test_a_docker_login_is_not_written_where_machines_read_it(self):
        gantry = registry.CLOUD_REGISTRY.from_str("gantry")
        login = {"SKYPILOT_DOCKER_USERNAME": "u", "SKYPILOT_DOCKER_PASSWORD": "p", "SKYPILOT_DOCKER_SERVER": "ghcr.io"}
        task = sky.Task(run="true", envs=login)
        task.set_resources(sky.Resources(cloud=gantry, instance_type="1x-A100-SXM4-40GB-c8-m64", region="us-west-2", image_id="docker:team/job"))
        (resources,) = task.resources
        with self.assertRaisesRegex(exceptions.InvalidCloudConfigs, "registryUser and registryPassword"):
            gantry.make_deploy_resources_variables(resources, None, mock.Mock(), None, 1)

    def test_check_says_why(self):
        gantry = registry.CLOUD_REGISTRY.from_str("gantry")
        self.assertEqual(gantry._check_compute_credentials(), (True, None))
        (self.home / "token").write_text("wrong")
        self.assertEqual(gantry._check_compute_credentials(), (False, "the token is wrong"))
        (self.home / ".sky/gantry.yaml").unlink()
        self.assertIn("there is no", gantry._check_compute_credentials()[1])


if __name__ == "__main__":
    unittest.main()
