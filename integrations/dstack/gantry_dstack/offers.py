"""What gantry serve offers now, in dstack's words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from dstack._internal.core.backends.base.offers import OfferDiskFitter, filter_offers_by_requirements
from dstack._internal.core.models.backends.base import BackendType
from dstack._internal.core.models.instances import Disk, Gpu, InstanceAvailability, InstanceOfferWithAvailability, InstanceRuntime, InstanceType, Resources
from dstack._internal.core.models.resources import Memory, Range
from dstack._internal.core.models.runs import Requirements
from gantry.record import counts

#: The form of a module and the memory, which dstack's names of GPUs lack.
_FORM = re.compile(r"-(?:SXM\d*|PCIe)|-\d+GB$")


def gpu_name(model: str) -> str:
    """dstack's name of a GPU: A100-SXM4-40GB is A100, RTX 4090 is RTX4090, H100-NVL-94GB is H100NVL."""
    return re.sub(r"[ -]", "", _FORM.sub("", model))


def _all(found: Iterable[Any], simulated: bool, regions: list[str] | None) -> Iterator[InstanceOfferWithAvailability]:
    best: dict[tuple[str, str], InstanceOfferWithAvailability] = {}
    for o in found:
        if o.free_gpus < 1 or (o.simulated and not simulated) or (regions is not None and o.region not in regions):
            continue
        for count in counts(o.free_gpus):
            cpus, memory, disk = (total * count // o.gpus for total in (o.cpu_cores, o.ram_mib, o.disk_gib * 1024))
            name = f"{count}x-{o.model.replace(' ', '_')}-c{cpus}-m{memory // 1024}-d{disk // 1024}"
            price = float(o.price_per_gpu_hour) * count
            if (name, o.region) in best and best[name, o.region].price <= price:
                continue
            gpus = [Gpu(name=gpu_name(o.model), memory_mib=o.vram_mib) for _ in range(count)]
            best[name, o.region] = InstanceOfferWithAvailability(
                backend=BackendType("gantry"),
                instance=InstanceType(name=name, resources=Resources(cpus=cpus, memory_mib=memory, gpus=gpus, spot=False, disk=Disk(size_mib=disk))),
                region=o.region,
                price=price,
                backend_data={"gpu": o.model, "price": o.price_per_gpu_hour, "share": {"cpus": cpus, "memoryMiB": memory // 1024 * 1024}},
                availability=InstanceAvailability.AVAILABLE,
                instance_runtime=InstanceRuntime.RUNNER,
            )
    yield from best.values()


def offers(found: Iterable[Any], requirements: Requirements, simulated: bool, regions: list[str] | None) -> list[InstanceOfferWithAvailability]:
    """Those that fit, the cheapest first: for each number of GPUs the cheapest machine of a kind in a region. A job gets the disk that it asks for."""
    fitter, out = OfferDiskFitter(requirements), []
    for offer in filter_offers_by_requirements(_all(found, simulated, regions), requirements, ignore_disk=True):
        share = offer.instance.resources.disk.size_mib / 1024
        if share >= 1 and (fit := fitter.fit(offer, Range[Memory](min=Memory(1), max=Memory(share)))):
            out.append(fit)
    return sorted(out, key=lambda o: o.price)
