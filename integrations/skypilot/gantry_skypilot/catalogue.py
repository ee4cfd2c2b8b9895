"""The catalogue: what gantry serve offers now. SkyPilot knows this module as sky.catalog.gantry_catalog.

An instance type is a number of GPUs of a model with their share of the machine, such as 2x-A100-SXM4-40GB-c16-m128. Its name says
all that has to be known of it when its last machine is rented. Only its price has to be remembered then.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import gantry
import httpx
import pandas as pd
from gantry.record import counts
from sky import sky_logging
from sky.catalog import common

from . import settings, store

logger = sky_logging.init_logger(__name__)

COLUMNS = ["InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price", "SpotPrice", "Region"]

#: How long an answer of the server is used, seconds. One sky launch asks for it a dozen times.
FRESH = 5.0

#: Chips whose memory is a part of SkyPilot's name.
BY_MEMORY = {("A100", "80"), ("V100", "32")}


class Type(NamedTuple):
    """An instance type, taken apart."""

    count: int
    model: str
    cpus: int
    memory: int  # GiB

    def __str__(self) -> str:
        return f"{self.count}x-{self.model.replace(' ', '_')}-c{self.cpus}-m{self.memory}"

    @property
    def accelerator(self) -> str:
        """SkyPilot's name of the GPU, by which it compares clouds."""
        found = re.fullmatch(r"(.+?)(?:-(?:SXM\d*|PCIe))?(?:-(\d+)GB)?", self.model)
        chip, memory = found.groups() if found else (self.model, None)
        name = re.sub(r"^RTX[- ]", "RTX", chip).replace(" ", "-")
        return f"{name}-{memory}GB" if (chip, memory) in BY_MEMORY else name


def parse(instance_type: str) -> Type | None:
    found = re.fullmatch(r"(\d+)x-(.+)-c(\d+)-m(\d+)", instance_type)
    return Type(int(found[1]), found[2].replace("_", " "), int(found[3]), int(found[4])) if found else None


def known(instance_type: str) -> Type:
    if found := parse(instance_type):
        return found
    raise ValueError(f"{instance_type!r} is not an instance type of this market; sky gpus list --infra gantry shows them")


def rows(offers: Iterable[Any], simulated: bool) -> list[dict[str, Any]]:
    """The cheapest price of each type in each region."""
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for o in offers:
        if o.free_gpus < 1 or (o.simulated and not simulated):
            continue
        for count in counts(o.free_gpus):
            kind = Type(count, o.model, o.cpu_cores * count // o.gpus, o.ram_mib * count // o.gpus // 1024)
            price = float(o.price_per_gpu_hour) * count
            at = (str(kind), o.region)
            if at in best and best[at]["Price"] <= price:
                continue
            best[at] = {
                "InstanceType": at[0], "AcceleratorName": kind.accelerator, "AcceleratorCount": float(count), "vCPUs": float(kind.cpus),
                "MemoryGiB": float(kind.memory), "GpuInfo": str({"Gpus": [{"MemoryInfo": {"SizeInMiB": o.vram_mib}}]}), "Price": price,
                "SpotPrice": math.nan, "Region": o.region,
            }  # fmt: skip
    return list(best.values())


class _Live:
    """What the server has said a moment ago."""

    def __init__(self) -> None:
        self._at, self._table = -math.inf, pd.DataFrame(columns=COLUMNS)

    def table(self) -> pd.DataFrame:
        if time.monotonic() - self._at > FRESH:
            simulated = bool(settings.read()["order"].get("allowSimulated"))
            found = rows(settings.client().offers("", limit=1000).offers, simulated)
            with store.Store("prices").change() as seen:
                for row in found:
                    seen.setdefault(row["InstanceType"], {})[row["Region"]] = row["Price"]
            self._table, self._at = pd.DataFrame(found, columns=COLUMNS), time.monotonic()
        return self._table

    def forget(self) -> None:
        self._at = -math.inf


live = _Live()


def _seen() -> pd.DataFrame:
    """What is offered now, and what was offered before at its last price: that of clusters which run."""
    now = live.table()
    have = set(zip(now["InstanceType"], now["Region"], strict=True))
    old = []
    for name, regions in store.Store("prices").read().items():
        if kind := parse(name):
            old += [
                {"InstanceType": name, "AcceleratorName": kind.accelerator, "AcceleratorCount": float(kind.count), "Price": price, "Region": region}
                for region, price in regions.items()
                if (name, region) not in have
            ]
    return pd.concat([now, pd.DataFrame(old, columns=COLUMNS)], ignore_index=True) if old else now


# What follows is called by SkyPilot, by these names.


def instance_type_exists(instance_type: str) -> bool:
    return parse(instance_type) is not None


def validate_region_zone(region: str | None, zone: str | None) -> tuple[str | None, str | None]:
    if zone is not None:
        raise ValueError("this market has regions and no zones; leave the zone out")
    return common.validate_region_zone_impl("gantry", _seen(), region, zone)


def get_hourly_cost(instance_type: str, use_spot: bool = False, region: str | None = None, zone: str | None = None) -> float:
    return common.get_hourly_cost_impl(_seen(), instance_type, use_spot, region, zone)


def get_vcpus_mem_from_instance_type(instance_type: str) -> tuple[float | None, float | None]:
    kind = known(instance_type)
    return float(kind.cpus), float(kind.memory)


def get_accelerators_from_instance_type(instance_type: str) -> dict[str, int | float] | None:
    kind = known(instance_type)
    return {kind.accelerator: kind.count}


def get_instance_type_for_accelerator(
    acc_name: str, acc_count: int, cpus: str | None = None, memory: str | None = None, use_spot: bool = False, local_disk: str | None = None,
    region: str | None = None, zone: str | None = None, max_hourly_cost: float | None = None,
) -> tuple[list[str] | None, list[str]]:  # fmt: skip
    del local_disk
    return common.get_instance_type_for_accelerator_impl(live.table(), re.escape(acc_name), acc_count, cpus, memory, use_spot, region, zone, max_hourly_cost)


def get_region_zones_for_instance_type(instance_type: str, use_spot: bool) -> list[Any]:
    table = live.table()
    return common.get_region_zones(table[table["InstanceType"] == instance_type].drop(columns="SpotPrice"), use_spot) if not use_spot else []


def list_accelerators(
    gpus_only: bool, name_filter: str | None, region_filter: str | None, quantity_filter: int | None, case_sensitive: bool = True,
    all_regions: bool = False, require_price: bool = True,
) -> dict[str, list[common.InstanceTypeInfo]]:  # fmt: skip
    """SkyPilot asks all clouds at once. One that cannot be reached must not break the list of the others, so that it says so."""
    del require_price
    try:
        table = live.table()
    except (ValueError, gantry.Error, httpx.HTTPError) as e:
        logger.warning(f"Gantry's offers are missing from this list: {e}")
        return {}
    return common.list_accelerators_impl("Gantry", table, gpus_only, name_filter, region_filter, quantity_filter, case_sensitive, all_regions)
