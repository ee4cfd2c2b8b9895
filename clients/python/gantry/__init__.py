"""Rents GPUs on the Gantry market through a `gantry serve`.

create_cluster is what most programs need; Client has the other operations, and gantry.core every one as it is described
by the server's OpenAPI document.
"""

from .front import Client, Cluster, Error, create_cluster

__all__ = ["Client", "Cluster", "Error", "create_cluster"]
