"""What a wheel has besides the source: its version, and the program gantry of one platform, which scripts/wheels.sh has built."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

version = os.environ.get("GANTRY_WHEEL_VERSION", "0.1.0.dev0")


class Hook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for made in ("core", "_sync"):
            if not (pathlib.Path(self.root) / "gantry" / made).is_dir():
                raise FileNotFoundError(f"gantry/{made} is not generated yet: run scripts/clients.sh generate, then build again")
        program, platform = os.environ.get("GANTRY_WHEEL_PROGRAM"), os.environ.get("GANTRY_WHEEL_PLATFORM")
        if self.target_name != "wheel":
            return
        build_data["extra_metadata"] = {str(pathlib.Path(self.root).parent.parent / "LICENSE"): "LICENSE"}
        if program and platform:
            # As a script, not in the package: pip puts it into the folder of commands, where it needs no Python.
            build_data["shared_scripts"] = {program: pathlib.Path(program).name}
            licences = pathlib.Path(program).with_name("gantry.licences.txt")
            if licences.is_file():
                build_data["extra_metadata"][str(licences)] = licences.name
            build_data["sbom_files"].append(str(pathlib.Path(program).with_name("gantry.cdx.json")))
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{platform}"
