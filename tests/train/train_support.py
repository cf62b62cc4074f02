"""Shared by the scripts of this folder: `shoal train` as a process, on small problems, and its run folder.

A script is run as SCRIPT SHOAL [TEST...] and exits with 77 if all its tests were skipped."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

SHOAL = sys.argv[1]
# The same bits in every run: one thread, nothing probed.
SAME_BITS = ["--no-tune", "--threads", "1"]
PATIENCE_S = 100
STARTED = []  # Killed in every outcome.


class Finished:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __str__(self):
        return f"exit code {self.code}\n{self.out}{self.err}"


class Training:
    """A process that trains, with its output in files."""

    def __init__(self, folder, *arguments):
        self.folder = pathlib.Path(folder)
        self.out = tempfile.TemporaryFile("w+")
        self.err = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([SHOAL, "train", *map(str, arguments), *SAME_BITS],
                                        stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)
        STARTED.append(self.process)

    @staticmethod
    def text(file):
        # Opened again for a file position of its own: writers share that of `file`.
        with open(f"/proc/self/fd/{file.fileno()}", errors="replace") as again:
            return again.read()

    def first_step(self):
        """The first step that it has reported, counted from 1; None: none yet."""
        found = re.search(r"  step (\d+)/", self.text(self.out))
        return int(found[1]) if found else None

    def running(self):
        return self.process.poll() is None

    def wait_until(self, condition, what):
        """Returns False if the process ended first."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if not self.running():
                return condition()
            if time.monotonic() > end:
                self.kill()
                raise AssertionError(f"waited in vain for {what}: {self.finish()}")
            time.sleep(0.002)
        return True

    def kill(self):
        self.process.kill()
        self.process.wait()

    def finish(self):
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        result = Finished(self.process.returncode, self.text(self.out), self.text(self.err))
        self.out.close()
        self.err.close()
        return result


def complete_checkpoint(folder):
    """The newest step with a complete checkpoint; 0: none."""
    latest = pathlib.Path(folder) / "checkpoint" / "latest"
    try:
        return int(latest.read_text().split("-")[-1])
    except FileNotFoundError:
        return 0


def summary(folder):
    return json.loads((pathlib.Path(folder) / "summary.json").read_text())


def metrics(folder):
    """The lines of all workers; a killed one may have left half a line."""
    lines = []
    for line in (pathlib.Path(folder) / "metrics.jsonl").read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            pass
    return lines


def workers_of(launcher):
    """The pids of the training processes, by worker number."""
    found = {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent != launcher:
                continue
            environment = (folder / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        for setting in environment:
            if setting.startswith(b"SHOAL_NODE="):
                found[int(setting[11:])] = int(folder.name)
    return found


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)  # of all tests of the class

    @classmethod
    def start(cls, folder, *arguments):
        """Starts a run in a new folder."""
        return Training(folder, *arguments, "--out", folder)

    @classmethod
    def resume(cls, folder, *arguments):
        return Training(folder, "--resume", folder, *arguments)

    @classmethod
    def train(cls, folder, *arguments):
        """Runs to the end, which must succeed; returns the summary."""
        finished = cls.start(folder, *arguments).finish()
        assert finished.code == 0, finished
        return summary(folder)


def main():
    arguments = ["-v", *sys.argv[2:]]
    try:
        program = unittest.main(argv=[sys.argv[0], *arguments], exit=False)
    finally:
        for process in STARTED:
            process.kill()
            process.wait()
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun > 0 and len(result.skipped) == result.testsRun else 0)
