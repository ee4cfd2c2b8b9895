"""llama.cpp's server, as the package xllamacpp has it built in, with the flags that gantry's template gives llama-server.

The package has no command line, so this file stands for that alone: server, engine and API are llama.cpp's. In place of a
repository of the hub it serves the file in MODEL.
"""

import argparse
import os
import signal

import xllamacpp

flags = argparse.ArgumentParser(allow_abbrev=False)
flags.add_argument("-hf", required=True)
flags.add_argument("--host", required=True)
flags.add_argument("--port", type=int, required=True)
flags.add_argument("--ctx-size", type=int, required=True)
flags.add_argument("--parallel", type=int, required=True)
flags.add_argument("--n-gpu-layers", type=int, required=True)
flags.add_argument("--embeddings", action="store_true")
flags.add_argument("--pooling", choices=["mean", "cls", "last"])
given = flags.parse_args()

params = xllamacpp.CommonParams()
params.model.path = os.environ["MODEL"]
params.model_alias = {given.hf}
params.hostnames, params.port = [given.host], given.port
params.n_ctx, params.n_parallel, params.n_gpu_layers = given.ctx_size, given.parallel, given.n_gpu_layers
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.embedding = given.embeddings
if given.pooling:
    params.pooling_type = getattr(xllamacpp.llama_pooling_type, "LLAMA_POOLING_TYPE_" + given.pooling.upper())
server = xllamacpp.Server(params)
print("serving at", server.listening_address, flush=True)
signal.sigwait([signal.SIGTERM, signal.SIGINT])
