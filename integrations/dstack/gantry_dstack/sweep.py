"""Ends what dstack has bought and does not end: its server ended between a purchase and its own record of it, and the run was stopped since; or
the lease could not be ended for longer than dstack tries."""

from __future__ import annotations

import threading
import time

import gantry
import httpx
from dstack._internal.core.errors import ComputeError
from dstack._internal.utils.logging import get_logger

from . import purchase, store
from .models import GantryConfig

logger = get_logger(__name__)

#: How long dstack may take to ask for a machine that it has bought. It asks every few seconds while it runs.
GRACE = 600.0

EVERY = 60.0

_lock = threading.Lock()
_running: dict[str, GantryConfig] = {}  # by server: the newest settings


def begin(config: GantryConfig) -> None:
    """Watches the purchases of a server as long as this process runs."""
    with _lock:
        runs = config.server in _running
        _running[config.server] = config
    if not runs:
        threading.Thread(target=_watch, args=(config.server,), name="gantry-sweep", daemon=True).start()


def _watch(server: str) -> None:
    began = time.time()
    while True:
        time.sleep(EVERY)
        with _lock:
            config = _running[server]
        try:
            sweep(config, since=began)
        except Exception:
            logger.exception("Failed to look for forgotten purchases at %s", server)


def sweep(config: GantryConfig, since: float) -> None:
    """Ends purchases that dstack had time to ask for, and did not. since: when dstack's server has started."""
    with gantry.Client(config.server, config.creds.token) as client:
        for saved in store.all_of():
            content = saved.read()
            if not content.get("key") or content["server"] != config.server:
                continue
            waits = content.get("known") or time.time() - max(content["at"], since) < GRACE
            if waits and not content.get("failed") and not content.get("unwanted"):
                continue
            try:
                purchase.end(client, saved, config.server)
                logger.warning("Ended the purchase %s, which dstack does not want", content["key"])
            except (ComputeError, gantry.Error, httpx.HTTPError) as e:
                logger.warning("The purchase %s, which dstack does not want, is not ended yet: %s", content["key"], e)
