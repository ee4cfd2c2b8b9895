"""What is changed in dstack, and the names of it that are used. tests/test_canary.py fails where one of them has moved."""

from __future__ import annotations

import importlib
from importlib import metadata
from types import ModuleType
from typing import Annotated, Any, Union

PINNED = "0.22.5"
NAME = "gantry"

_CORE = "dstack._internal.core"

#: Names that are changed: the list of backends, the types of their settings, and the classes that make them.
PATCHED: dict[str, tuple[str, ...]] = {
    f"{_CORE}.models.backends.base": ("BackendType",),
    f"{_CORE}.backends.models": (
        "AnyBackendConfigWithoutCreds", "AnyBackendConfigWithCreds", "AnyBackendConfigWithCredsTagged", "BackendConfigWithCreds", "AnyBackendFileConfigWithCreds",
        "AnyBackendConfig", "BackendInfo",
    ),
    f"{_CORE}.backends.configurators": ("_CONFIGURATOR_CLASSES", "_BACKEND_TYPES", "_BACKEND_TYPE_TO_CONFIGURATOR_CLASS_MAP"),
}  # fmt: skip

#: Names that are used, and that dstack does not promise to keep.
USED: dict[str, tuple[str, ...]] = {
    f"{_CORE}.backends.base.authorized_keys": ("build_authorized_keys",),
    f"{_CORE}.backends.base.backend": ("Backend",),
    f"{_CORE}.backends.base.compute": ("Compute", "get_docker_commands"),
    f"{_CORE}.backends.base.configurator": ("BackendRecord", "Configurator", "raise_invalid_credentials_error"),
    f"{_CORE}.backends.base.offers": ("OfferDiskFitter", "filter_offers_by_requirements"),
    f"{_CORE}.consts": ("DSTACK_RUNNER_SSH_PORT",),
    f"{_CORE}.errors": ("ComputeError", "NoCapacityError", "NotYetTerminated", "ProvisioningError", "ServerClientError"),
    f"{_CORE}.models.common": ("CoreModel", "validate_extra_ignore", "validate_json_extra_ignore"),
    f"{_CORE}.models.instances": ("Disk", "Gpu", "InstanceAvailability", "InstanceOfferWithAvailability", "InstanceRuntime", "InstanceType", "Resources"),
    f"{_CORE}.models.resources": ("Memory", "Range"),
    f"{_CORE}.models.runs": ("Job", "JobProvisioningData", "Requirements", "Run"),
}


class Moved(ImportError):
    """dstack has moved what the package uses."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(
            f"gantry-dstack is made for dstack {PINNED}, and version {metadata.version('dstack')} has moved {', '.join(names)}; "
            f"install dstack=={PINNED}, or remove gantry-dstack"
        )


def moved(names: dict[str, tuple[str, ...]]) -> list[str]:
    """Those names that this version of dstack lacks."""
    out = []
    for module, wanted in names.items():
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            out.append(module)
            continue
        out += [f"{module}.{name}" for name in wanted if not hasattr(found, name)]
    return out


def change(module: ModuleType) -> None:
    """Adds the backend to a module that was loaded just now."""
    if lost := [f"{module.__name__}.{name}" for name in PATCHED[module.__name__] if not hasattr(module, name)]:
        raise Moved(lost)
    {"base": _name, "models": _settings, "configurators": _configurator}[module.__name__.rpartition(".")[2]](module)


def _name(base: ModuleType) -> None:
    """A member of the enumeration of backends. Python closes enumerations: this is what its own class does for each member."""
    kinds = base.BackendType
    if NAME in kinds._value2member_map_:
        return
    member = str.__new__(kinds, NAME)
    member._name_, member._value_, member._sort_order_ = NAME.upper(), NAME, len(kinds)
    type.__setattr__(kinds, NAME.upper(), member)
    kinds._member_names_.append(NAME.upper())
    kinds._member_map_[NAME.upper()] = kinds._value2member_map_[NAME] = member


def _settings(models: ModuleType) -> None:
    """The types of settings in the server's configuration, in its database and in answers."""
    from pydantic import Field, RootModel

    from .models import GantryBackendConfig, GantryBackendConfigWithCreds

    def also(own: str, kind: type) -> Any:
        return Union[getattr(models, own), kind]  # noqa: UP007  a union that grows

    models.AnyBackendConfigWithoutCreds = also("AnyBackendConfigWithoutCreds", GantryBackendConfig)
    models.AnyBackendConfigWithCreds = also("AnyBackendConfigWithCreds", GantryBackendConfigWithCreds)
    models.AnyBackendFileConfigWithCreds = also("AnyBackendFileConfigWithCreds", GantryBackendConfigWithCreds)
    models.AnyBackendConfigWithCredsTagged = Annotated[models.AnyBackendConfigWithCreds, Field(discriminator="type")]
    models.AnyBackendConfig = Union[models.AnyBackendConfigWithoutCreds, models.AnyBackendConfigWithCreds]  # noqa: UP007

    class BackendConfigWithCreds(RootModel[models.AnyBackendConfigWithCredsTagged]):  # type: ignore[name-defined]
        pass

    own_info = models.BackendInfo

    class BackendInfo(own_info):
        config: models.AnyBackendConfigWithoutCreds  # type: ignore[name-defined]

    for kind in (BackendConfigWithCreds, BackendInfo):
        kind.__module__, kind.__qualname__ = models.__name__, kind.__name__
        kind.model_rebuild(_types_namespace={"models": models}, force=True)
        setattr(models, kind.__name__, kind)


def _configurator(configurators: ModuleType) -> None:
    if lost := moved(USED):
        raise Moved(lost)
    from .configurator import GantryConfigurator

    configurators._CONFIGURATOR_CLASSES.append(GantryConfigurator)
    configurators._BACKEND_TYPES.append(GantryConfigurator.TYPE)
    configurators._BACKEND_TYPE_TO_CONFIGURATOR_CLASS_MAP[GantryConfigurator.TYPE] = GantryConfigurator
