"""Makes gantry/_sync, the client without await, of gantry/_async: scripts/clients.sh generate runs it."""

import pathlib
import shutil

import unasync

gantry = pathlib.Path(__file__).parent / "gantry"
shutil.rmtree(gantry / "_sync", ignore_errors=True)
names = {
    "AsyncClient": "Client",
    "AsyncCluster": "Cluster",
    "aclose": "close",
    "aiter_lines": "iter_lines",
    "aread": "read",
    "asyncio": "sync",
    "get_async_httpx_client": "get_httpx_client",
}
names |= {name + "_async": name for name in ("create_cluster", "shield", "sleep")}
unasync.unasync_files(
    [str(path) for path in sorted((gantry / "_async").glob("*.py"))],
    [unasync.Rule(str(gantry / "_async"), str(gantry / "_sync"), additional_replacements=names)],
)
