"""One of two gloo processes that train a backbone; started by tests/backbones/test_distributed.py.

Arguments: rank, a file to meet at, a folder for results, and the backbone's options as JSON.
"""

import json
import sys

import torch
from random_weights import randomise
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

from swin_mm import SwinTransformer
from swin_mm.ops.chunks import CHUNKS

rank, meeting, folder, options = int(sys.argv[1]), sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
model = DistributedDataParallel(randomise(SwinTransformer(**options)).train())
pictures = torch.randn(4, 3, 140, 300, generator=torch.Generator().manual_seed(0))
for _ in range(2):  # a second step finds out what the first left unused
    model.zero_grad()
    maps = model(pictures[2 * rank : 2 * rank + 2])
    sum(out.square().mean() for out in maps).backward()
assert CHUNKS.size or not options["with_cp"]  # recomputing goes by chunks
if rank == 0:
    gradients = {name: p.grad for name, p in model.module.named_parameters()}
    torch.save(gradients, f"{folder}/gradients.pth")
# Together, and after the reducer that holds the group: a rank was once aborted as it ended.
distributed.barrier()
del model, maps
distributed.destroy_process_group()
