"""The cloud as SkyPilot's optimizer sees it: what it has, what that costs, and what it refuses."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gantry
import httpx
from sky import clouds, exceptions, provision
from sky.utils import resources_utils

from . import catalogue, settings

_Feature = clouds.CloudImplementationFeatures

#: What is refused, and why.
REFUSED = {
    _Feature.STOP: "a lease cannot be stopped and continued later; end it with sky down, and keep files on a volume",
    _Feature.AUTOSTOP: "a lease cannot be stopped and continued later; end it with sky down",
    _Feature.AUTODOWN: "machines hold no key that could end their leases; run sky down, or let the time of the order end",
    _Feature.AUTO_TERMINATE: "machines hold no key that could end their leases; run sky down, or let the time of the order end",
    _Feature.SPOT_INSTANCE: "SkyPilot gets no spot prices: it would not learn that a machine gives notice; gantry deploy --spot takes them",
    _Feature.IMAGE_ID: "a lease runs a container image; write image_id: docker:NAME",
    _Feature.CLONE_DISK_FROM_CLUSTER: "a lease has no disk that could be cloned",
    _Feature.CUSTOM_DISK_TIER: "machines have no tiers of disks",
    _Feature.CUSTOM_NETWORK_TIER: "machines have no tiers of networks",
    _Feature.CUSTOM_MULTI_NETWORK: "a container has one network, and those of several machines a private one",
    _Feature.LOCAL_DISK: "machines do not say which disks they have",
    _Feature.OPEN_PORTS: "the ports of a container are private; reach one with gantry port LEASE PORT, or name it in public of order in ~/.sky/gantry.yaml",
    _Feature.STORAGE_MOUNTING: "buckets cannot be mounted in a container of gVisor; copy files with mode: COPY or workdir",
    _Feature.HOST_CONTROLLERS: "a controller buys machines, and machines hold no key to buy with; let it run on another cloud",
    _Feature.HIGH_AVAILABILITY_CONTROLLERS: "a controller buys machines, and machines hold no key to buy with; let it run on another cloud",
}

#: SkyPilot's size of a disk that nobody has named, GB.
DISK = 256


class Gantry(clouds.Cloud):
    """SkyPilot finds it by the name of this class."""

    _REPR = "Gantry"
    PROVISIONER_VERSION = clouds.ProvisionerVersion.SKYPILOT
    STATUS_VERSION = clouds.StatusVersion.SKYPILOT
    OPEN_PORTS_VERSION = clouds.OpenPortsVersion.LAUNCH_ONLY

    @classmethod
    def _unsupported_features_for_resources(cls, resources: Any, region: str | None = None) -> dict[Any, str]:
        refused = dict(REFUSED)
        if resources.extract_docker_image() is not None:
            # SkyPilot asks for this feature too where the image is a container's.
            refused.pop(_Feature.IMAGE_ID)
        return refused

    @classmethod
    def _max_cluster_name_length(cls) -> int:
        return 40  # the name is a part of the purchase's key, and of a host name

    @classmethod
    def regions_with_offering(
        cls, instance_type: str, accelerators: Any, use_spot: bool, region: str | None, zone: str | None, resources: Any = None
    ) -> list[clouds.Region]:
        del accelerators, resources
        if zone is not None:
            return []
        found = catalogue.get_region_zones_for_instance_type(instance_type, use_spot)
        return [r for r in found if region is None or r.name == region]

    @classmethod
    def zones_provision_loop(cls, *, region: str, num_nodes: int, instance_type: str, accelerators: Any = None, use_spot: bool = False) -> Iterator[None]:
        del num_nodes
        for _ in cls.regions_with_offering(instance_type, accelerators, use_spot, region, None):
            yield None

    @classmethod
    def get_vcpus_mem_from_instance_type(cls, instance_type: str) -> tuple[float | None, float | None]:
        return catalogue.get_vcpus_mem_from_instance_type(instance_type)

    @classmethod
    def get_accelerators_from_instance_type(cls, instance_type: str) -> dict[str, int | float] | None:
        return catalogue.get_accelerators_from_instance_type(instance_type)

    @classmethod
    def get_zone_shell_cmd(cls) -> str | None:
        return None

    def instance_type_to_hourly_cost(self, instance_type: str, use_spot: bool, region: str | None = None, zone: str | None = None) -> float:
        return catalogue.get_hourly_cost(instance_type, use_spot, region, zone)

    def accelerators_to_hourly_cost(self, accelerators: dict[str, int], use_spot: bool, region: str | None = None, zone: str | None = None) -> float:
        return 0.0  # a part of the instance type's price

    def get_egress_cost(self, num_gigabytes: float) -> float:
        return 0.0

    def instance_type_exists(self, instance_type: str) -> bool:
        return catalogue.instance_type_exists(instance_type)

    def validate_region_zone(self, region: str | None, zone: str | None) -> tuple[str | None, str | None]:
        return catalogue.validate_region_zone(region, zone)

    @classmethod
    def get_image_size(cls, image_id: str, region: str | None) -> float:
        return 0.0  # the machine that fetches the image knows

    @classmethod
    def get_default_instance_type(cls, *args: Any, **options: Any) -> str | None:
        return None  # every machine has a GPU, and nobody has named one

    def _get_feasible_launchable_resources(self, resources: Any) -> Any:
        if resources.instance_type is not None:
            return resources_utils.FeasibleResources([resources.copy(accelerators=None)], [], None)
        if not resources.accelerators:
            return resources_utils.FeasibleResources([], [], "Gantry rents GPUs: name one in accelerators")
        ((name, count),) = resources.accelerators.items()
        types, near = catalogue.get_instance_type_for_accelerator(
            name, count, resources.cpus, resources.memory, resources.use_spot, None, resources.region, resources.zone, resources.max_hourly_cost
        )
        ready = [resources.copy(cloud=Gantry(), instance_type=t, accelerators=None, cpus=None, memory=None) for t in types or []]
        return resources_utils.FeasibleResources(ready, near, None)

    def make_deploy_resources_variables(
        self, resources: Any, cluster_name: Any, region: clouds.Region, zones: Any, num_nodes: int, dryrun: bool = False, volume_mounts: Any = None
    ) -> dict[str, Any]:
        del cluster_name, zones, num_nodes, dryrun
        if volume_mounts:
            raise exceptions.InvalidCloudConfigs("SkyPilot's volumes are not for this market; name one in volume of order in ~/.sky/gantry.yaml")
        resources = resources.assert_launchable()
        kind = catalogue.known(resources.instance_type)
        image = resources.extract_docker_image() or settings.read()["order"].get("image")
        if not image:
            raise exceptions.InvalidCloudConfigs("a lease runs a container image; write image_id: docker:NAME, or image in order in ~/.sky/gantry.yaml")
        if resources.docker_login_config is not None:
            # SkyPilot would write it into the cluster's file, which each machine gets.
            raise exceptions.InvalidCloudConfigs(
                "SKYPILOT_DOCKER_PASSWORD would reach the machines; write registryUser and registryPassword in order in ~/.sky/gantry.yaml instead"
            )
        price = catalogue.get_hourly_cost(resources.instance_type, False, region.name) / kind.count
        return {
            "instance_type": resources.instance_type,
            "custom_resources": resources_utils.make_ray_custom_resources_str({kind.accelerator: kind.count}),
            "region": region.name,
            "image": image,
            "price": f"{price:.6f}",
            "disk": resources.disk_size if resources.disk_size != DISK else 0,
            # OpenSSH makes the host name lower case, and leases have both cases. So the host is a place, and the proxy finds its lease.
            "proxy": shlex.join([sys.executable, "-m", "gantry_skypilot.proxy"]).replace("%", "%%") + " %h",
        }

    @classmethod
    def _check_compute_credentials(cls) -> tuple[bool, str | None]:
        try:
            settings.client().offers("", limit=1)
        except (ValueError, gantry.Error, httpx.HTTPError) as e:
            return False, f"gantry serve does not answer: {e}" if isinstance(e, httpx.HTTPError) else str(e)
        return True, None

    def get_credential_file_mounts(self) -> dict[str, str]:
        return {}  # machines get no key


def template(task: Any, to_provision: Any, **context: Any) -> provision.TemplateSpec:
    return provision.TemplateSpec(str(Path(__file__).with_name("gantry-ray.yml.j2")))
