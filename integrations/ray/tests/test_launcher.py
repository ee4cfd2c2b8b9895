"""Ray's own reading of a configuration, with the provider: the file that people start with, and what is wrong with others."""

import pathlib
import tempfile
import unittest
from unittest import mock

import yaml
from ray.autoscaler._private import commands

EXAMPLE = pathlib.Path(__file__).parent.parent / "example.yaml"


class Launcher(unittest.TestCase):
    def test_ray_takes_the_example(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
            config = commands._bootstrap_config(yaml.safe_load(EXAMPLE.read_text()))
        self.assertEqual((config["provider"]["machines"], config["max_workers"]), (3, 2))
        self.assertIn("--autoscaling-config=~/ray_bootstrap_config.yaml", config["head_start_ray_commands"][-1])

    def test_setup_of_workers_is_refused(self):
        config = {**yaml.safe_load(EXAMPLE.read_text()), "setup_commands": ["pip install x"]}
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder), self.assertRaisesRegex(ValueError, "head_setup_commands"):
            commands._bootstrap_config(config)


if __name__ == "__main__":
    unittest.main()
