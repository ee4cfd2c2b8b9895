"""The settings of the backend, in ~/.dstack/server/config.yml."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from dstack._internal.core.models.common import CoreModel
from pydantic import Field, field_validator

#: Fields of an order that follow from the run.
OWN = (
    "gpu", "count", "nodes", "region", "image", "command", "entrypoint", "user", "env", "runToCompletion", "sshKeys", "migrate", "spot", "type", "redundancy",
)  # fmt: skip


class GantryCreds(CoreModel):
    type: Annotated[Literal["token"], Field(description="The type of credentials")] = "token"
    token: Annotated[str, Field(description="The token of gantry serve")]


class GantryBackendConfig(CoreModel):
    type: Annotated[Literal["gantry"], Field(description="The type of backend")] = "gantry"
    server: Annotated[str, Field(description="The address of gantry serve")] = "http://127.0.0.1:8484"
    regions: Annotated[list[str] | None, Field(description="The regions of machines. Omit to use all regions")] = None
    order: Annotated[dict[str, Any], Field(description="Fields of each order: seconds, or untilStopped and budget, and others of OrderRequest")]

    @field_validator("order")
    @classmethod
    def _order(cls, order: dict[str, Any]) -> dict[str, Any]:
        if own := sorted(set(order) & set(OWN)):
            raise ValueError(f"order has {', '.join(own)}, which follows from the run or is not for dstack; leave it out")
        if order.get("untilStopped"):
            if not order.get("budget"):
                raise ValueError("order has untilStopped without a budget; write the most USDC that a job may cost")
            return {"seconds": 3600, **order}
        if not order.get("seconds"):
            raise ValueError("order lacks seconds; write for how long machines are paid at most, or untilStopped and a budget")
        return order


class GantryBackendConfigWithCreds(GantryBackendConfig):
    creds: Annotated[GantryCreds, Field(description="The credentials")]


class GantryConfig(GantryBackendConfigWithCreds):
    """What the server has stored."""
