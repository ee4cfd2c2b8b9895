"""Rents GPUs on the Gantry market through a `gantry serve`.

create_cluster is what most programs need; Client has the other operations. AsyncClient has the same ones for programs with
asyncio or trio. gantry.core has every operation as the server's OpenAPI document describes it.
"""

from ._async.client import AsyncClient, AsyncCluster, create_cluster_async
from ._sync.client import Client, Cluster, create_cluster
from .common import Error

__all__ = ["AsyncClient", "AsyncCluster", "Client", "Cluster", "Error", "create_cluster", "create_cluster_async"]
