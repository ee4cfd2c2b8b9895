"""What the plug-in uses of SkyPilot that SkyPilot does not promise. A new SkyPilot that moves one of these names fails here, by its name."""

import inspect
import pathlib
import subprocess
import sys
import textwrap
import tomllib
import unittest
from unittest import mock

import fake  # noqa: F401  before sky: the home folder
import sky
from sky import authentication, clouds, provision
from sky.backends import backend_utils
from sky.catalog import common as catalog_common
from sky.utils import command_runner, registry

from gantry_skypilot import register

HERE = pathlib.Path(__file__).parent.parent


class Canary(unittest.TestCase):
    def test_the_version_is_the_pinned_one(self):
        needs = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["dependencies"]
        self.assertIn(f"skypilot=={register.PINNED}", needs)
        self.assertEqual(
            sky.__version__, register.PINNED, "try the plug-in with this SkyPilot, and change the pin in pyproject.toml, register.py and scripts/python/skypilot.txt"
        )

    def test_the_names_are_there(self):
        self.assertEqual(register.moved(), [], "SkyPilot has moved what gantry_skypilot uses")

    def test_a_moved_name_is_said(self):
        with (
            mock.patch.dict(register.NAMES, {"sky.clouds": ("Cloud", "Gone"), "sky.absent": ("x",)}),
            self.assertRaisesRegex(ImportError, r"made for SkyPilot 0\.14\.1, and version .* has moved sky\.clouds\.Gone, sky\.absent"),
        ):
            register.add_cloud()

    def test_a_patched_function_with_other_parameters_is_said(self):
        with self.assertRaisesRegex(ImportError, "_add_auth_to_cluster_config"):
            register._with_key(lambda cloud, path, more: None)

    def test_functions_have_the_parameters_that_are_used(self):
        for function, names in (
            (provision.register_provisioner, ["cloud_name", "module", "template_override"]),
            (inspect.unwrap(backend_utils._add_auth_to_cluster_config), ["cloud", "tmp_yaml_path"]),
            (authentication.configure_ssh_info, ["config"]),
            (catalog_common.get_hourly_cost_impl, ["df", "instance_type", "use_spot", "region", "zone"]),
            (catalog_common.validate_region_zone_impl, ["cloud_name", "df", "region", "zone"]),
            (
                catalog_common.list_accelerators_impl,
                ["cloud", "df", "gpus_only", "name_filter", "region_filter", "quantity_filter", "case_sensitive", "all_regions", "require_price"],
            ),
        ):
            self.assertEqual(list(inspect.signature(function).parameters), names, function.__qualname__)

    def test_the_provisioner_has_what_sky_calls(self):
        from gantry_skypilot import rented

        for name in (
            "bootstrap_instances", "run_instances", "wait_instances", "stop_instances", "terminate_instances", "query_instances", "get_cluster_info",
            "open_ports", "cleanup_ports",
        ):  # fmt: skip
            own = list(inspect.signature(getattr(rented, name)).parameters)
            self.assertEqual(own, list(inspect.signature(inspect.unwrap(getattr(provision, name))).parameters)[1:], name)

    def test_the_cloud_refuses_or_has_each_feature(self):
        from gantry_skypilot import cloud

        has = {clouds.CloudImplementationFeatures.MULTI_NODE, clouds.CloudImplementationFeatures.DOCKER_IMAGE}
        self.assertEqual(has | set(cloud.REFUSED), set(clouds.CloudImplementationFeatures), "SkyPilot has features of which the cloud does not say whether it has them")

    def test_openssh_still_gets_a_proxy_command(self):
        self.assertIn("ssh_proxy_command", inspect.signature(command_runner.ssh_options_list).parameters)

    def test_the_cloud_is_there(self):
        self.assertEqual(repr(registry.CLOUD_REGISTRY.from_str("gantry")), "Gantry")
        self.assertIn("gantry", sky.skylet.constants.ALL_CLOUDS)
        self.assertIs(provision.get_registered_provisioner("gantry").module, sys.modules["gantry_skypilot.rented"])

    def test_the_hook_costs_nothing_without_sky(self):
        line = (HERE / "gantry_skypilot.pth").read_text()
        program = textwrap.dedent(line) + "import sys; print(sorted({m.split('.')[0] for m in sys.modules} & {'sky', 'gantry', 'pandas', 'httpx', 'yaml'}))"
        said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.strip(), "[]")


if __name__ == "__main__":
    unittest.main()
