"""The peer of `shoal bench collective`: torch.distributed's all_reduce over gloo.

  gloo_collective.py PROCESSES BYTES,BYTES,...      prints "result copied BYTES MICROSECONDS"

It sums in place, which spares it a copy that the others make."""
import os
import subprocess
import sys
import tempfile
import time

BYTES_OF_A_RUN, WARM_UP, PERIOD = 512 << 20, 5, 1000  # as in bench/collective_rank.cc


def measure(dist, torch, rank, size, count):
    elements = count // 4
    coded = (torch.arange(elements) % PERIOD + 1).float()
    data = coded * (rank + 1)
    dist.all_reduce(data)
    if not torch.equal(data, coded * (size * (size + 1) // 2)):
        sys.exit(f"the sum of {count} bytes is wrong")
    data.zero_()  # Summed in place again and again, anything else would overflow.
    rounds = min(max(BYTES_OF_A_RUN // max(count, 1), 8), 10000)
    for _ in range(rounds // WARM_UP + 1):
        dist.all_reduce(data)
    dist.barrier()
    begun = time.perf_counter()
    for _ in range(rounds):
        dist.all_reduce(data)
    took = time.perf_counter() - begun
    if rank == 0:
        print(f"result copied {count} {took / rounds * 1e6:.6g}", flush=True)


def run(rank, size, store, counts):
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    for count in counts:
        measure(dist, torch, rank, size, count)
    dist.barrier()


def main():
    size, counts = int(sys.argv[1]), [int(word) for word in sys.argv[2].split(",")]
    if len(sys.argv) > 3:
        return run(int(sys.argv[3]), size, sys.argv[4], counts)
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([sys.executable, *sys.argv, str(rank), os.path.join(folder, "store")])
                 for rank in range(size)]
        if any([rank.wait() for rank in ranks]):
            sys.exit(1)


main()
