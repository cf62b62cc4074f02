"""`shoal compare` as a process, simulated and live. Usage: compare_test.py SHOAL"""
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SHOAL = sys.argv[1]
SMALL = ["--model", "linear", "--data", "synthetic:blobs,n=600", "--batch", "25", "--no-tune", "--threads", "1"]
COSTS = ["--ns-per-sample", "20000", "--ns-per-element", "reduce=1,update=1,copy=1"]


def compare(*arguments):
    return subprocess.run([SHOAL, "compare", *map(str, arguments)], capture_output=True, text=True, timeout=200)


class Compare(unittest.TestCase):
    def setUp(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.out = self.scratch / "out"

    def tearDown(self):
        shutil.rmtree(self.scratch)

    def rows(self):
        with open(self.out / "table.csv", newline="") as file:
            return list(csv.DictReader(file))

    def summary(self, run):
        return json.loads((self.out / run / "summary.json").read_text())

    def test_simulated_by_epochs_with_seeds(self):
        done = compare("--like", "pytorch,easgd", "--simulate", "--budget", "2epochs", "--seeds", 2, "--workers", 2,
                       "--network", "1gbit:50us", *SMALL, *COSTS, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual([(row["system"], row["runs"]) for row in self.rows()], [("pytorch", "2"), ("easgd", "2")])
        self.assertIn("<canvas", (self.out / "report.html").read_text())
        for system in ("pytorch", "easgd"):
            for seed in (1, 2):
                summary = self.summary(f"{system}/seed-{seed}")
                self.assertEqual((summary["epochs"], summary["seed"], summary["world"]), (2, seed, "sim"))

    def test_a_time_is_kept(self):
        """In virtual time the pilot is exact, except for the first and the last step."""
        done = compare("--like", "pytorch,downpour,gosgd", "--simulate", "--budget", "0.2s", "--workers", 2, *SMALL, *COSTS,
                       "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in self.rows():
            self.assertAlmostEqual(float(row["wall_s"]), 0.2, delta=0.03, msg=row["system"])

    def test_step_sizes_are_tuned(self):
        done = compare("--like", "pytorch", "--simulate", "--tune", "lr", "--budget", "3epochs", "--workers", 2, *SMALL,
                       *COSTS, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        tried = {path.name: self.summary(f"pytorch/{path.name}")["test_accuracy"]
                 for path in (self.out / "pytorch").iterdir() if path.is_dir() and path.name.startswith("lr-")}
        self.assertEqual(len(tried), 3, tried)
        config = (self.out / "pytorch/seed-1/config.toml").read_text()
        chosen = next(line.split('"')[1] for line in config.splitlines() if line.startswith("lr ="))
        self.assertEqual(tried[f"lr-{chosen}"], max(tried.values()))

    def test_live(self):
        done = compare("--like", "pytorch,easgd", "--budget", "2epochs", "--workers", 2, *SMALL, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({row["world"] for row in self.rows()}, {"live"})

    def test_live_for_a_time(self):
        done = compare("--like", "pytorch,downpour", "--budget", "1s", "--workers", 2, *SMALL, "--out", self.out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in self.rows():
            self.assertLess(float(row["wall_s"]), 2, msg=row["system"])

    def test_a_run_that_fails_is_told_of(self):
        done = compare("--like", "pytorch,easgd", "--simulate", "--budget", "1epochs", "--workers", 2, "--model", "mlp",
                       *SMALL[2:], *COSTS, "--lr", "1e20", "--out", self.out)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"pytorch +seed-1 +failed: .*loss")
        self.assertRegex(done.stdout, r"easgd +seed-1 +failed: .*loss")
        self.assertIn("no run finished", done.stderr)

    def test_nonsense_is_refused_before_anything_starts(self):
        for arguments, words in ((["--like", "pytorch,horovodd"], "horovod"), (["--budget", "5parsecs"], "--budget 5parsecs"),
                                 (["--seeds", 0], "--seeds 0"), (["--network", "1gbit:1us"], "add --simulate"),
                                 (["--tune", "lr", "--lr", "0.1"], "--tune lr and --lr"), (["--tune", "all"], "all"),
                                 (["--like", "pytorch,pytorch"], "is repeated")):
            with self.subTest(words=words):
                done = compare(*arguments, "--out", self.out)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(words, done.stderr)
                self.assertFalse(self.out.exists())
        self.out.mkdir()
        (self.out / "mine").write_text("precious")
        self.assertIn("it exists already", compare("--out", self.out).stderr)


class Advise(unittest.TestCase):
    def advise(self, *arguments):
        return subprocess.run([SHOAL, "advise", *arguments], capture_output=True, text=True, timeout=200)

    def test_a_slow_network_speaks_for_fewer_bytes(self):
        task = ["--like", "pytorch,diloco", "--workers", "4", "--phantom", "vgg-a", "--steps", "200"]
        slow = self.advise(*task, "--cluster", "1gbit")
        self.assertEqual(slow.returncode, 0, slow.stderr)
        self.assertRegex(slow.stdout, r" 1\. diloco .* samples/s")
        strict = self.advise(*task, "--cluster", "infiniband-hdr", "--unbalanced-data")
        self.assertRegex(strict.stdout, r" 1\. pytorch ")
        self.assertIn("needs the same distribution of data", strict.stdout)

    def test_nonsense_is_refused(self):
        for arguments, words in ((["--like", "pytroch"], "pytorch"), (["--steps", "0"], "--steps 0"),
                                 (["--phantom", "resnet-5"], "resnet-50"), (["--cluster", "9gbit"], "1gbit")):
            done = self.advise(*arguments)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
