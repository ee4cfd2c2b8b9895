"""What the package changes and uses of dstack that dstack does not promise. A new dstack that moves one of these names fails here, by its name."""

import inspect
import pathlib
import subprocess
import sys
import textwrap
import tomllib
import types
import unittest
from importlib import metadata
from unittest import mock

import fake  # noqa: F401  before dstack: the home folder
from dstack._internal.core.backends import configurators, features
from dstack._internal.core.backends.base import authorized_keys, compute, configurator, offers
from dstack._internal.core.backends.models import BackendInfo
from dstack._internal.core.models.backends.base import BackendType
from dstack._internal.core.models.projects import Project
from dstack._internal.core.models.runs import JobProvisioningData
from dstack._internal.server.services.config import ServerConfig, file_config_to_config

from gantry_dstack import hook, register
from gantry_dstack.compute import GantryCompute
from gantry_dstack.configurator import GantryConfigurator
from gantry_dstack.models import GantryBackendConfigWithCreds

HERE = pathlib.Path(__file__).parent.parent
CONFIG = {"type": "gantry", "server": "http://127.0.0.1:1", "creds": {"type": "token", "token": "t"}, "order": {"seconds": 60}}


class Canary(unittest.TestCase):
    def test_the_version_is_the_pinned_one(self):
        needs = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["dependencies"]
        self.assertIn(f"dstack[server]=={register.PINNED}", needs)
        self.assertEqual(
            metadata.version("dstack"),
            register.PINNED,
            "try the package with this dstack, and change the pin in pyproject.toml, register.py and scripts/python/dstack.txt",
        )

    def test_the_names_are_there(self):
        self.assertEqual(register.moved(register.PATCHED) + register.moved(register.USED), [], "dstack has moved what gantry_dstack uses")

    def test_each_changed_module_is_listed(self):
        self.assertEqual(set(hook.CHANGED), set(register.PATCHED))

    def test_a_moved_name_is_said(self):
        lost = types.ModuleType("dstack._internal.core.models.backends.base")
        with self.assertRaisesRegex(ImportError, r"made for dstack 0\.22\.5, and version .* has moved dstack\._internal\.core\.models\.backends\.base\.BackendType;"):
            register.change(lost)
        with (
            mock.patch.dict(register.USED, {"dstack._internal.core.errors": ("ComputeError", "Gone"), "dstack.absent": ("x",)}),
            self.assertRaisesRegex(ImportError, r"has moved dstack\._internal\.core\.errors\.Gone, dstack\.absent;"),
        ):
            register.change(configurators)

    def test_functions_have_the_parameters_that_are_used(self):
        for function, names in (
            (compute.get_docker_commands, ["authorized_keys", "bin_path", "pre_runner_commands"]),
            (authorized_keys.build_authorized_keys, ["project_ssh_public_key", "extra_authorized_keys"]),
            (offers.filter_offers_by_requirements, ["offers", "requirements", "ignore_disk"]),
            (offers.OfferDiskFitter.fit, ["self", "offer", "configurable_disk_size"]),
            (configurator.raise_invalid_credentials_error, ["fields", "details"]),
        ):
            self.assertEqual(list(inspect.signature(function).parameters), names, function.__qualname__)

    def test_the_classes_have_what_dstack_calls(self):
        for own, base in ((GantryCompute, compute.Compute), (GantryConfigurator, configurator.Configurator)):
            self.assertFalse(inspect.isabstract(own), f"{base.__name__} has new methods: {', '.join(own.__abstractmethods__)}")
            for name, method in inspect.getmembers(base, inspect.isfunction):
                if not name.startswith("_"):
                    theirs = list(inspect.signature(method).parameters)
                    self.assertEqual(list(inspect.signature(getattr(own, name)).parameters), theirs, f"{base.__name__}.{name}")

    def test_what_a_machine_is_has_the_fields_that_are_filled(self):
        want = {"backend", "instance_type", "instance_id", "region", "price", "username", "dockerized", "hostname", "ssh_port"}
        self.assertEqual(want - set(JobProvisioningData.model_fields), set())

    def test_the_backend_is_there(self):
        self.assertIs(BackendType("gantry"), BackendType.GANTRY)
        self.assertIn(BackendType.GANTRY, list(BackendType))
        self.assertIsInstance(configurators.get_configurator("gantry"), GantryConfigurator)
        self.assertIn(BackendType.GANTRY, configurators.list_available_backend_types())
        for name, backends in vars(features).items():
            if name.startswith("BACKENDS_WITH_"):
                self.assertNotIn(BackendType.GANTRY, backends, name)

    def test_the_configuration_of_the_server_has_it(self):
        read = ServerConfig.model_validate({"projects": [{"name": "main", "backends": [CONFIG, {"type": "vastai", "creds": {"type": "api_key", "api_key": "k"}}]}]})
        self.assertIsInstance(file_config_to_config(read.projects[0].backends[0]), GantryBackendConfigWithCreds)
        with self.assertRaisesRegex(ValueError, "colour"):
            ServerConfig.model_validate({"projects": [{"name": "main", "backends": [{**CONFIG, "colour": "red"}]}]})

    def test_answers_of_the_server_have_it(self):
        info = {"name": "gantry", "config": {name: value for name, value in CONFIG.items() if name != "creds"}}
        self.assertIs(Project.model_fields["backends"].annotation.__args__[0], BackendInfo)
        self.assertEqual(BackendInfo.model_validate(info).config.type, "gantry")

    def test_the_hook_costs_nothing_without_dstack(self):
        line = (HERE / "gantry_dstack.pth").read_text()
        program = textwrap.dedent(line) + "import sys; print(sorted({m.split('.')[0] for m in sys.modules} & {'dstack', 'gantry', 'pydantic', 'httpx', 'yaml'}))"
        said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout
        self.assertEqual(said.strip(), "[]")


if __name__ == "__main__":
    unittest.main()
