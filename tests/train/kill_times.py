"""How long the others take to commit their next step when workers of `shoal train` are killed.

  kill_times.py SHOAL STRIKES [OPTION...]      options of `shoal train`; LeNet on Fashion-MNIST, 4 workers

Strikes in four ways in turn (a random worker, rank 0, a frozen one inside a collective, right after all have come
together) and, where etcd is installed, the coordinator's process in a run of its own. Prints a line for each way:
how often, median and worst time in milliseconds, from the kill to the first step that was committed in a view
without the victim, as metrics.jsonl has it."""
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

STRIKES, OPTIONS = int(sys.argv[2]), sys.argv[3:]
import train_support  # noqa: E402: reads argv
from train_support import Training, metrics, summary, workers_of  # noqa: E402

WORKERS = 4
WAYS = ["random moment", "rank 0", "inside a collective", "right after a view"]


def members(training):
    """Of the last view that was announced."""
    views = [line for line in training.text(training.err).splitlines() if ": view " in line]
    return len(views[-1].split(": view ")[1].split(":")[1].split()) if views else 0


def last_view(training):
    views = [line for line in training.text(training.err).splitlines() if ": view " in line]
    return int(views[-1].split(": view ")[1].split(":")[0])


def coordinator(training):
    lines = [line for line in training.text(training.err).splitlines() if " coordinates job " in line]
    return int(lines[-1].split("node ")[1].split(":")[0])


def strike(training, way, draw):
    """Kills a worker; when that was, by the wall clock."""
    training.wait_until(lambda: members(training) == WORKERS, "all workers")
    if way != "right after a view":
        time.sleep(0.3 + 0.4 * draw.random())
    rank = {"rank 0": 0, "coordinator": None}.get(way, draw.randrange(WORKERS))
    pid = workers_of(training.process.pid).get(coordinator(training) if rank is None else rank)
    if pid is None:
        return None
    if way == "inside a collective":
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
    when = time.time()
    os.kill(pid, signal.SIGKILL)
    training.wait_until(lambda: members(training) < WORKERS, "a view without it")
    return when


def recoveries(folder, strikes):
    started = float(summary(folder)["started_s"])
    lines = sorted((line["time_s"], line["view"], line["epoch"]) for line in metrics(folder))
    for way, when in strikes:
        at = when - started
        _, before, epoch = max((line for line in lines if line[0] < at), default=(0, 0, 0))
        time_s, _, then = min(line for line in lines if line[0] > at and line[1] > before)
        # The 10,000 test samples of an epoch's end are no part of the recovery: told apart.
        yield way if then == epoch else "with an evaluation before the next step", time_s - at


def run(ways, count, *options):
    folder = pathlib.Path(tempfile.mkdtemp()) / "run"
    model = OPTIONS or ["--model", "lenet", "--data", "fashion-mnist", "--batch", "16"]
    training = Training(folder, *model, "--steps", "100000000", "--workers", WORKERS, "--out", folder, *options)
    draw, strikes = random.Random(3), []
    for i in range(count):
        when = strike(training, ways[i % len(ways)], draw)
        if when is not None:
            strikes.append((ways[i % len(ways)], when))
    training.wait_until(lambda: members(training) == WORKERS, "all workers at the end")
    training.wait_until(lambda: metrics(folder)[-1]["view"] >= last_view(training), "a step of the last view")
    training.process.send_signal(signal.SIGTERM)
    finished = training.finish()
    assert finished.code == 3, finished
    s = summary(folder)
    assert s["ledger"]["repeated"] == s["ledger"]["missing"] == s["ledger"]["lost"] == 0, s
    times = {}
    for way, took in recoveries(folder, strikes):
        times.setdefault(way, []).append(1000 * took)
    shutil.rmtree(folder.parent)
    return times


def report(what, times):
    print(f"{what}: {len(times)} times, median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms",
          flush=True)


def with_etcd(count):
    with tempfile.TemporaryDirectory() as data, socket.socket() as a, socket.socket() as b:
        for s in (a, b):
            s.bind(("127.0.0.1", 0))
        client, peer = (f"http://127.0.0.1:{s.getsockname()[1]}" for s in (a, b))
        a.close(), b.close()
        etcd = subprocess.Popen(
            ["etcd", "--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
             f"default={peer}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(2)
            return run(["coordinator"], count, "--store", client)
        finally:
            etcd.kill()
            etcd.wait()


def main():
    times = run(WAYS, STRIKES)
    if shutil.which("etcd"):
        times.update(with_etcd(STRIKES // 5 + 1))
    for way, took in times.items():
        report(f"shoal train, 4 workers, SIGKILL, {way}", took)
    everything = [t for way, took in times.items() if not way.startswith("with an evaluation") for t in took]
    report("shoal train, 4 workers, SIGKILL, all without one", everything)


try:
    main()
finally:
    for process in train_support.STARTED:
        process.kill()
        process.wait()
