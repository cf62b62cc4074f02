"""`shoal calibrate`, and runs that predict themselves."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import train_support
from train_support import SHOAL, summary

TASK = ["--model", "mlp:8-64-3", "--data", "synthetic:blobs,features=8,n=512,test=64", "--batch", "8", "--workers", "2"]
# All choices that the program would probe are given; it only measures times.
FIXED = ["--threads", "1", "--blas", "default", "--memory-format", "contiguous"]


class PredictTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def run_shoal(self, *arguments, code=0):
        done = subprocess.run([SHOAL, *map(str, arguments)], capture_output=True, text=True, check=False,
                              timeout=train_support.PATIENCE_S, env={**os.environ, "XDG_CACHE_HOME": str(self.scratch)})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def train(self, name, *arguments):
        done = self.run_shoal("train", *TASK, *FIXED, "--steps", 40, *arguments, "--out", self.scratch / name)
        return done, summary(self.scratch / name)

    def kept(self):
        return list(self.scratch.glob("shoal/calibrations/*.json"))


class Predicted(PredictTest):
    def test_a_run_predicts_itself_and_calibrates_once(self):
        done, first = self.train("a")
        self.assertIn("predicted ", done.stdout)
        self.assertGreater(first["predicted_step_s"], 0)
        self.assertGreater(first["measured_step_s"], 0)
        self.assertAlmostEqual(first["predicted_bytes_per_step"] / first["measured_bytes_per_step"], 1, delta=0.05)
        [file] = self.kept()
        before = file.stat().st_mtime_ns
        _, second = self.train("b", "--like", "d-psgd")
        self.assertGreater(second["predicted_step_s"], 0)
        self.assertEqual(self.kept(), [file])
        self.assertEqual(file.stat().st_mtime_ns, before)

    def test_one_that_shall_not_does_not(self):
        _, told = self.train("a", "--no-predict")
        _, unprobed = self.train("b", "--no-tune")
        for run in (told, unprobed):
            self.assertNotIn("predicted_step_s", run)
            self.assertGreater(run["measured_step_s"], 0)
        self.assertEqual(self.kept(), [])


class Calibrated(PredictTest):
    def test_what_was_measured_is_simulated(self):
        file = self.scratch / "c.json"
        done = self.run_shoal("calibrate", *TASK[:4], "--workers", 2, "--batch", "4,8", *FIXED, "--seconds", 0.1, "--out", file)
        self.assertIn("inside", done.stdout)
        found = json.loads(file.read_text())
        self.assertEqual(found["tensors"], [3, 192, 64, 512])
        self.assertEqual([g["batch"] for g in found["gradients"]], [4, 8])
        simulate = ["simulate", "--timing-only", "--calibration", file, "--workers", 8, "--batch", 8, "--steps", 20]
        done = self.run_shoal(*simulate, "--out", self.scratch / "a")
        self.assertIn("mlp:8-64-3, timing only", done.stdout)
        self.assertNotIn("warning", done.stderr)
        pace = [float(x) for x in summary(self.scratch / "a")["ns_per_sample"].split(",")]
        self.assertAlmostEqual(sum(pace) * 8e-9 / found["gradients"][1]["ready_s"][-1], 1, delta=0.01)

        found["machine"]["cpu"] = "Another CPU"
        file.write_text(json.dumps(found))
        done = self.run_shoal(*simulate, "--out", self.scratch / "b")
        self.assertIn("it was measured on a Another CPU", done.stderr)
        done = self.run_shoal("simulate", "--calibration", file, *TASK[2:], "--out", self.scratch / "c", code=1)
        self.assertIn("is of mlp:8-64-3, and --model is lenet", done.stderr)
        done = self.run_shoal("advise", "--calibration", file, "--workers", 4, "--steps", 20, "--like", "shoal,easgd")
        self.assertIn("mlp:8-64-3 on 4 workers", done.stdout)

    def test_nonsense_is_refused(self):
        file = self.scratch / "c.json"
        file.write_text("{}")
        done = self.run_shoal("simulate", "--timing-only", "--calibration", file, code=1)
        self.assertIn("no calibration", done.stderr)
        done = self.run_shoal("calibrate", "--batch", "8,x", "--out", file, code=1)
        self.assertIn("--batch 8,x: expected whole numbers", done.stderr)
        done = self.run_shoal("calibrate", "--batch", "8,8", "--out", file, code=1)
        self.assertIn("each once", done.stderr)


if __name__ == "__main__":
    train_support.main()
