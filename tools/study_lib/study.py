"""Shared by tools/consistency, tools/decentral and tools/encodings: training in the simulator, on a part of Fashion-MNIST.
SHOAL_BINARY and SHOAL_DATASET override the program and the dataset. Complete runs in the folder SHOAL_STUDY are not repeated."""
import contextlib
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOAL = pathlib.Path(os.environ.get("SHOAL_BINARY", ROOT / "build/release/bin/shoal"))
DATA = pathlib.Path(os.environ.get("SHOAL_DATASET", "/usr/share/datasets/fashion-mnist"))
# The same virtual time on every machine.
COSTS = ["--ns-per-sample", "1000000", "--ns-per-element", "reduce=0.5,update=0.7,copy=0.3", "--network", "10gbit:20us"]


def require_built():
    if not SHOAL.exists():
        sys.exit("build it first: ./shoalw build")


@contextlib.contextmanager
def scratch_folder():
    kept = os.environ.get("SHOAL_STUDY")
    if kept:
        pathlib.Path(kept).mkdir(parents=True, exist_ok=True)
        yield pathlib.Path(kept)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder)


def simulate(folder, *flags):
    """The output of the command and the summary of the run."""
    printed, summary = folder / "printed.txt", folder / "summary.json"
    if printed.exists() and summary.exists():
        return printed.read_text(), json.loads(summary.read_text())
    command = [SHOAL, "simulate", *COSTS, *flags, "--out", folder]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    printed.write_text(done.stdout)
    return done.stdout, json.loads(summary.read_text())


def epoch_ends(printed):
    """The end time, without evaluations, and the test accuracy of each epoch."""
    ends, time_s = [], 0
    for accuracy, took in re.findall(r"epoch \d+/\d+ done .*test accuracy ([\d.]+) %.* ([\d.]+) s\n", printed):
        time_s += float(took)
        ends.append((time_s, float(accuracy) / 100))
    return ends


def thinned(folder, every):
    """Writes one in `every` training samples, and all test samples, in the format of `--data idx:`."""
    folder.mkdir(exist_ok=True)
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                 "t10k-labels-idx1-ubyte"):
        content = gzip.decompress((DATA / f"{name}.gz").read_bytes())
        head, size = (16, 28 * 28) if "images" in name else (8, 1)
        if name.startswith("train"):
            samples = [content[at:at + size] for at in range(head, len(content), size * every)]
            content = content[:4] + len(samples).to_bytes(4, "big") + content[8:head] + b"".join(samples)
        (folder / name).write_bytes(content)
    return ["--data", f"idx:{folder}"]
