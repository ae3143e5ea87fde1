"""One of two processes that train a model together; started by test_watch_processes.py."""

import sys

import ropewalk
import torch
import watch_group
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from watch_models import in_batches, make_documents, make_model, train_step

watch_group.begin()
rank = distributed.get_rank()
model = make_model()
parallel = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if "unlike" in sys.argv:
    documents = make_documents()
    with ropewalk.watch(model, every=10, batches=4, out=f"{sys.argv[1]}/padded"):
        train_step(parallel, optimizer, in_batches(documents[:6], 2), attention_mask=torch.full((3, documents.shape[1]), 1 - rank))
    with ropewalk.watch(model, every=4, batches=4, out=f"{sys.argv[1]}/passes"):
        for _ in range(6):
            for _ in range(rank):
                with parallel.no_sync():
                    parallel(input_ids=documents[:3], labels=documents[:3]).loss.backward()
            train_step(parallel, optimizer, [documents[:3]])
    watch_group.end()
with ropewalk.watch(model, every=1, batches=4, out=sys.argv[1]) as watch:
    for _ in range(2):
        train_step(parallel, optimizer, in_batches(make_documents(), 4)[2 * rank : 2 * rank + 2])
    if rank == 1:
        try:
            watch.study
        except ropewalk.UsageError as error:
            assert "first process" in str(error)
watch_group.end()
