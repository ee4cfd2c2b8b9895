"""The machines of dstack's jobs: leases bought through gantry serve. dstack calls these methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gantry
import httpx
from dstack._internal.core.backends.base.authorized_keys import build_authorized_keys
from dstack._internal.core.backends.base.compute import Compute, get_docker_commands
from dstack._internal.core.consts import DSTACK_RUNNER_SSH_PORT
from dstack._internal.core.errors import ComputeError
from dstack._internal.core.models.instances import InstanceOfferWithAvailability
from dstack._internal.core.models.placement import PlacementGroup
from dstack._internal.core.models.runs import Job, JobProvisioningData, Requirements, Run
from dstack._internal.core.models.volumes import Volume

from . import purchase
from .models import GantryConfig
from .offers import offers
from .store import Store


class GantryCompute(Compute):
    def __init__(self, config: GantryConfig) -> None:
        super().__init__()
        self._config = config
        self._client = gantry.Client(config.server, config.creds.token)

    def get_offers(self, requirements: Requirements, full_offers: bool, unallocated_resources: bool) -> Iterator[InstanceOfferWithAvailability]:
        if requirements.spot or requirements.multinode or requirements.reservation:
            return iter(())  # the backend offers none of them
        try:
            found = self._client.offers("", limit=1000).offers
        except (gantry.Error, httpx.HTTPError) as e:
            raise ComputeError(f"gantry serve at {self._config.server} lists no machines: {e}") from e
        return iter(offers(found, requirements, bool(self._config.order.get("allowSimulated")), self._config.regions))

    def run_job(
        self,
        run: Run,
        job: Job,
        instance_offer: InstanceOfferWithAvailability,
        project_ssh_public_key: str,
        project_ssh_private_key: str,
        volumes: list[Volume],
        placement_group: PlacementGroup | None,
        requirements: Requirements,
        extra_authorized_keys: list[str],
    ) -> JobProvisioningData:
        if (auth := job.job_spec.registry_auth) and (written := run.run_spec.configuration.registry_auth) and written.password == auth.password:
            # dstack sends the run's configuration to the machine as it is written; only a secret stays a name there.
            raise ComputeError("the machine would get the password of registry_auth; run dstack secret set NAME VALUE, and write ${{ secrets.NAME }} as the password")
        if volumes:
            raise ComputeError("dstack's volumes are not for this market; name one in volume of order in server/config.yml")
        saved = Store(job.job_submissions[-1].id.hex)
        order = self._request(job, instance_offer, build_authorized_keys(project_ssh_public_key, extra_authorized_keys))
        content = purchase.buy(self._client, saved, self._config.server, order, instance_offer.model_dump(mode="json"))
        bought = InstanceOfferWithAvailability.model_validate(content["offer"])  # that of an earlier call, if that one has bought
        return JobProvisioningData(
            backend=bought.backend,
            instance_type=bought.instance,
            instance_id=saved.name,
            region=bought.region,
            price=bought.price,
            username="root",
            dockerized=False,
        )

    def _request(self, job: Job, offer: InstanceOfferWithAvailability, keys: list[str]) -> dict[str, Any]:
        """The order of a job, by the fields of the HTTP API. What the user has set replaces what follows from the offer."""
        resources, data = offer.instance.resources, offer.backend_data
        out = {**data["share"], "diskMiB": resources.disk.size_mib, "maxPricePerGpuHour": data["price"]}
        if shm := job.job_spec.requirements.resources.shm_size:
            out["shmMiB"] = round(shm * 1024)
        if auth := job.job_spec.registry_auth:  # the machine gets a token that reads this image's repository
            out["registryUser"], out["registryPassword"] = auth.username, auth.password
        return {
            **out,
            **self._config.order,
            "gpu": data["gpu"],
            "count": len(resources.gpus),
            "nodes": 1,
            "region": offer.region,
            "image": job.job_spec.image_name,
            "user": "root",
            "entrypoint": "/bin/sh",
            "command": ["-c", " && ".join(get_docker_commands(keys))],
            "runToCompletion": True,  # a container whose start fails, or whose runner has ended, costs nothing more
        }

    def update_provisioning_data(self, provisioning_data: JobProvisioningData, project_ssh_public_key: str, project_ssh_private_key: str) -> None:
        try:
            if found := purchase.endpoint(self._client, Store(provisioning_data.instance_id), DSTACK_RUNNER_SSH_PORT):
                provisioning_data.hostname, provisioning_data.ssh_port = found
        except (gantry.Error, httpx.HTTPError) as e:
            raise ComputeError(f"gantry serve does not say how the machine is: {e}") from e  # dstack asks again

    def terminate_instance(self, instance_id: str, region: str, backend_data: str | None = None) -> None:
        try:
            purchase.end(self._client, Store(instance_id), self._config.server)
        except (gantry.Error, httpx.HTTPError) as e:
            raise ComputeError(f"the lease is not ended: {e}") from e  # dstack asks again
