"""What dstack's server makes of the backend's settings."""

from __future__ import annotations

import json

import gantry
import httpx
from dstack._internal.core.backends.base.backend import Backend
from dstack._internal.core.backends.base.configurator import BackendRecord, Configurator, raise_invalid_credentials_error
from dstack._internal.core.errors import ServerClientError
from dstack._internal.core.models.backends.base import BackendType
from dstack._internal.core.models.common import validate_extra_ignore, validate_json_extra_ignore
from gantry.core.models import OrderRequest

from . import sweep
from .compute import GantryCompute
from .models import GantryBackendConfig, GantryBackendConfigWithCreds, GantryConfig, GantryCreds

GANTRY = BackendType("gantry")


class GantryBackend(Backend):
    TYPE = GANTRY
    COMPUTE_CLASS = GantryCompute

    def __init__(self, config: GantryConfig) -> None:
        self._compute = GantryCompute(config)

    def compute(self) -> GantryCompute:
        return self._compute


class GantryConfigurator(Configurator[GantryBackendConfig, GantryBackendConfigWithCreds]):
    TYPE = GANTRY
    BACKEND_CLASS = GantryBackend

    def validate_config(self, config: GantryBackendConfigWithCreds, default_creds_enabled: bool) -> None:
        known = OrderRequest.from_dict({"gpu": "", "seconds": 1, **config.order}).to_dict()
        if unknown := sorted(set(config.order) - set(known)):
            raise ServerClientError(f"order has {', '.join(unknown)}, which an order does not have; see OrderRequest in /openapi.json of gantry serve")
        try:
            gantry.Client(config.server, config.creds.token).leases()
        except gantry.Error as e:
            if e.status in (401, 403):
                raise_invalid_credentials_error(fields=[["creds", "token"]], details=str(e))
            raise ServerClientError(f"gantry serve at {config.server} refuses: {e}") from e
        except httpx.HTTPError as e:
            raise ServerClientError(f"gantry serve does not answer at {config.server}: {e}; start it, or mend server") from e

    def create_backend(self, project_name: str, config: GantryBackendConfigWithCreds) -> BackendRecord:
        return BackendRecord(config=validate_extra_ignore(GantryBackendConfig, config).model_dump_json(), auth=config.creds.model_dump_json())

    def get_backend_config_with_creds(self, record: BackendRecord) -> GantryBackendConfigWithCreds:
        config = self._config(record)
        sweep.begin(config)  # dstack asks for each backend of its configuration when its server starts
        return validate_extra_ignore(GantryBackendConfigWithCreds, config)

    def get_backend_config_without_creds(self, record: BackendRecord) -> GantryBackendConfig:
        return validate_extra_ignore(GantryBackendConfig, self._config(record))

    def get_backend(self, record: BackendRecord) -> GantryBackend:
        config = self._config(record)
        sweep.begin(config)
        return GantryBackend(config)

    def _config(self, record: BackendRecord) -> GantryConfig:
        return validate_extra_ignore(GantryConfig, {**json.loads(record.config), "creds": validate_json_extra_ignore(GantryCreds, record.auth)})
