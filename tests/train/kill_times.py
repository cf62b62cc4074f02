"""Measures the time from the kill of a worker or server of `shoal train` to the next step of the others.

  kill_times.py SHOAL STRIKES [--kill workers] [OPTION...]     options of `shoal train`; LeNet on Fashion-MNIST, 4 workers

It kills in four ways in turn: a random node, the first node, a node frozen inside a collective, and a node right after
all have joined; where etcd is installed, also the coordinator's process in a run of its own. It prints a line for each
way: the number of kills, and the median and worst time in milliseconds, from the kill to the first step committed in a
view without the victim, according to metrics.jsonl.

With --servers among the options it kills servers. Right after a join it kills only the new server, because the others
may be the only holders of their shards. With --kill workers too, it kills workers, and a line tells which fraction of
their rate the others keep: steps in a second before the kill and after it."""
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

STRIKES, OPTIONS = int(sys.argv[2]), sys.argv[3:]
KILL_WORKERS = OPTIONS[:2] == ["--kill", "workers"]
if KILL_WORKERS:
    OPTIONS = OPTIONS[2:]
import train_support  # noqa: E402: reads argv
from train_support import Training, metrics, summary, workers_of  # noqa: E402

WORKERS = 4
SERVERS = int(OPTIONS[OPTIONS.index("--servers") + 1]) if "--servers" in OPTIONS else 0
NODES = WORKERS + SERVERS
VICTIMS = range(WORKERS, NODES) if SERVERS and not KILL_WORKERS else range(WORKERS)
WAYS = ["random moment", f"rank {VICTIMS[0]}", "inside a collective", "right after a view"]
NAME = "shoal train, 4 workers" + (f", {SERVERS} servers, SIGKILL of {'servers' if VICTIMS[0] else 'workers'}"
                                   if SERVERS else ", SIGKILL")
RATE_S = 2  # seconds of which the rate is taken, before a strike and after it


def members(training):
    """The members of the last view that was announced."""
    views = [line for line in training.text(training.err).splitlines() if ": view " in line]
    return len(views[-1].split(": view ")[1].split(":")[1].split()) if views else 0


def last_view(training):
    views = [line for line in training.text(training.err).splitlines() if ": view " in line]
    return int(views[-1].split(": view ")[1].split(":")[0])


def coordinator(training):
    lines = [line for line in training.text(training.err).splitlines() if " coordinates job " in line]
    return int(lines[-1].split("node ")[1].split(":")[0])


def newest(training):
    """The node that joined a view last."""
    return int(re.findall(r"node (\d+)\.\d+ in\b", training.text(training.err))[-1])


def strike(training, way, draw):
    """Kills one node; returns the wall-clock time and the node."""
    training.wait_until(lambda: members(training) == NODES, "all nodes")
    if KILL_WORKERS:
        time.sleep(RATE_S)
    if way != "right after a view":
        time.sleep(0.3 + 0.4 * draw.random())
    rank = draw.choice(VICTIMS)
    if way == WAYS[1]:
        rank = VICTIMS[0]
    elif way == "coordinator":
        rank = coordinator(training)
    elif way == "right after a view" and VICTIMS[0] > 0:
        rank = newest(training)
    pid = workers_of(training.process.pid).get(rank)
    if pid is None:
        return None
    if way == "inside a collective":
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
    when = time.time()
    os.kill(pid, signal.SIGKILL)
    training.wait_until(lambda: members(training) < NODES, "a view without it")
    if KILL_WORKERS:
        time.sleep(RATE_S)
    return when, rank


def recoveries(folder, strikes):
    started = float(summary(folder)["started_s"])
    lines = sorted((line["time_s"], line["view"], line["epoch"]) for line in metrics(folder))
    for way, when, _ in strikes:
        at = when - started
        _, before, epoch = max((line for line in lines if line[0] < at), default=(0, 0, 0))
        time_s, _, then = min(line for line in lines if line[0] > at and line[1] > before)
        # Tell apart recoveries that include the 10,000 test samples of an epoch's end.
        yield way if then == epoch else "with an evaluation before the next step", time_s - at


def rates_kept(folder, strikes):
    """For each strike: the steps of the other nodes after it, relative to those before it."""
    started = float(summary(folder)["started_s"])
    lines = metrics(folder)
    for _, when, victim in strikes:
        at = when - started
        others = [line["time_s"] - at for line in lines if line["node"] != victim]
        yield sum(0 <= t < RATE_S for t in others) / sum(-RATE_S <= t < 0 for t in others)


def run(ways, count, *options):
    folder = pathlib.Path(tempfile.mkdtemp()) / "run"
    model = [] if "--model" in OPTIONS else ["--model", "lenet", "--data", "fashion-mnist", "--batch", "16"]
    training = Training(folder, *model, *OPTIONS, "--steps", "100000000", "--workers", WORKERS, "--out", folder,
                        *options)
    draw, strikes = random.Random(3), []
    for i in range(count):
        struck = strike(training, ways[i % len(ways)], draw)
        if struck is not None:
            strikes.append((ways[i % len(ways)], *struck))
    training.wait_until(lambda: members(training) == NODES, "all nodes at the end")
    training.wait_until(lambda: metrics(folder)[-1]["view"] >= last_view(training), "a step of the last view")
    training.process.send_signal(signal.SIGTERM)
    finished = training.finish()
    assert finished.code == 3, finished
    s = summary(folder)
    assert s["ledger"]["repeated"] == s["ledger"]["missing"] == s["ledger"]["lost"] == 0, s
    if VICTIMS[0] > 0:  # All workers survived, and have reported everything that the servers acknowledged.
        assert s["ledger"]["consumed"] == sum(line["samples"] for line in metrics(folder)), s
    if KILL_WORKERS:
        kept = list(rates_kept(folder, strikes))
        print(f"{NAME}: the others keep {100 * statistics.median(kept):.0f} % of their rate, at least "
              f"{100 * min(kept):.0f} %", flush=True)
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
    if shutil.which("etcd") and not SERVERS:
        times.update(with_etcd(STRIKES // 5 + 1))
    for way, took in times.items():
        report(f"{NAME}, {way}", took)
    everything = [t for way, took in times.items() if not way.startswith("with an evaluation") for t in took]
    report(f"{NAME}, all without one", everything)


try:
    main()
finally:
    for process in train_support.STARTED:
        process.kill()
        process.wait()
