"""Trains a model by DistributedDataParallel, and keeps where it is in the container's files. It says when each process begins, and at
the end a sum of the weights, which is the same on all machines."""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

steps = int(sys.argv[1])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
model = DistributedDataParallel(torch.nn.Linear(64, 8))  # takes the weights of the first
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("begin node %s rank %d of %d" % (os.environ["GANTRY_NODE_RANK"], rank, size), flush=True)
for step in range(steps):
    optimizer.zero_grad()
    loss = (model(torch.randn(16, 64)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
    time.sleep(0.1)
    if step % 10 == 0:
        print("step %d" % step, flush=True)
weights = sum(float(p.sum()) for p in model.parameters())
print("end of %d machines, weights %.6f" % (size, weights), flush=True)
dist.destroy_process_group()
