"""What is added to SkyPilot, and the names of it that are used. tests/test_canary.py fails where one of them has moved."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from types import ModuleType
from typing import Any

PINNED = "0.14.1"
NAME = "gantry"

#: Names of SkyPilot that it does not promise to keep.
NAMES: dict[str, tuple[str, ...]] = {
    "sky.skylet.constants": ("ALL_CLOUDS",),
    "sky.utils.registry": ("CLOUD_REGISTRY",),
    "sky.provision": ("register_provisioner", "TemplateSpec"),
    "sky.provision.common": ("ClusterInfo", "InstanceInfo", "ProvisionConfig", "ProvisionRecord"),
    "sky.backends.backend_utils": ("_add_auth_to_cluster_config", "yaml_utils"),
    "sky.authentication": ("configure_ssh_info",),
    "sky.clouds": ("Cloud", "CloudImplementationFeatures", "OpenPortsVersion", "ProvisionerVersion", "Region", "StatusVersion"),
    "sky.catalog": ("_map_clouds_catalog",),
    "sky.catalog.common": (
        "get_hourly_cost_impl", "get_instance_type_for_accelerator_impl", "get_region_zones", "list_accelerators_impl", "validate_region_zone_impl",
    ),
    "sky.exceptions": ("InvalidCloudConfigs",),
    "sky.utils.resources_utils": ("FeasibleResources", "make_ray_custom_resources_str"),
    "sky.utils.status_lib": ("ClusterStatus",),
}  # fmt: skip


def moved() -> list[str]:
    """The names that this version of SkyPilot lacks."""
    out = []
    for module, names in NAMES.items():
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            out.append(module)
            continue
        out += [f"{module}.{name}" for name in names if not hasattr(found, name)]
    return out


def name_cloud(constants: ModuleType) -> None:
    """Adds the name to the list of clouds, as soon as there is one."""
    if NAME not in constants.ALL_CLOUDS:
        constants.ALL_CLOUDS = (*constants.ALL_CLOUDS, NAME)


def add_cloud() -> None:
    """Registers the cloud, its catalogue and its provisioner. sky is imported."""
    import sky

    if lost := moved():
        raise ImportError(
            f"gantry-skypilot is made for SkyPilot {PINNED}, and version {sky.__version__} has moved {', '.join(lost)}; "
            f"install skypilot=={PINNED}, or remove gantry-skypilot"
        )
    from sky import provision
    from sky.backends import backend_utils
    from sky.utils import registry

    from . import catalogue, cloud, rented

    if NAME in registry.CLOUD_REGISTRY:
        return
    registry.CLOUD_REGISTRY.register(cloud.Gantry)
    sys.modules[f"sky.catalog.{NAME}_catalog"] = catalogue
    provision.register_provisioner(NAME, rented, template_override=cloud.template)
    backend_utils._add_auth_to_cluster_config = _with_key(backend_utils._add_auth_to_cluster_config)


def _with_key(own: Any) -> Any:
    """SkyPilot puts its key into the configuration of clouds that it knows, and asserts that there are no others."""

    @functools.wraps(own)
    def add(cloud: Any, tmp_yaml_path: str) -> None:
        from sky import authentication
        from sky.backends import backend_utils

        from .cloud import Gantry

        if not isinstance(cloud, Gantry):
            own(cloud, tmp_yaml_path)
            return
        config = authentication.configure_ssh_info(backend_utils.yaml_utils.read_yaml(tmp_yaml_path))
        backend_utils.yaml_utils.dump_yaml(tmp_yaml_path, config)

    if list(inspect.signature(own).parameters) != ["cloud", "tmp_yaml_path"]:
        raise ImportError(f"gantry-skypilot is made for SkyPilot {PINNED}: _add_auth_to_cluster_config has other parameters now")
    return add
