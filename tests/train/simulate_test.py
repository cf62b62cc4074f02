"""`shoal simulate` as a process: real learning in virtual time, the same for the same seed."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import train_support
from train_support import SHOAL, summary

TASK = ["--model", "mlp:8-64-3", "--data", "synthetic:blobs,features=8,n=512,test=64", "--batch", "8",
        "--epochs", "3", "--bucket-bytes", "1024"]
COSTS = ["--ns-per-sample", "200000", "--ns-per-element", "reduce=0.5,update=1,copy=0.2"]


class SimulateTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def run_shoal(self, *arguments):
        return subprocess.run([SHOAL, "simulate", *map(str, arguments)], capture_output=True, text=True,
                              timeout=train_support.PATIENCE_S, check=False)

    def simulate(self, name, *arguments):
        """Makes a run that must succeed; returns its output, without the folder's name, and its summary."""
        folder = self.scratch / name
        done = self.run_shoal(*arguments, "--out", folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.replace(str(folder), "FOLDER"), summary(folder)


class Simulated(SimulateTest):
    def test_one_seed_gives_one_result(self):
        first, one = self.simulate("a", *TASK, *COSTS, "--workers", "3")
        second, two = self.simulate("b", *TASK, *COSTS, "--workers", "3")
        self.assertEqual(first, second)
        self.assertEqual(one, two)
        self.assertEqual(one["world"], "sim")
        self.assertEqual(len(one["trace_hash"]), 16)
        self.assertGreater(one["test_accuracy"], 0.9)
        _, other = self.simulate("c", *TASK, *COSTS, "--workers", "3", "--seed", "2")
        self.assertNotEqual(other["trace_hash"], one["trace_hash"])
        self.assertNotEqual(other["params_sha256"], one["params_sha256"])

    def test_the_same_command_is_the_same_run_also_where_costs_are_measured(self):
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(self.scratch / "cache")):
            first, one = self.simulate("a", *TASK, "--workers", "2")
            second, two = self.simulate("b", *TASK, "--workers", "2")
            self.assertEqual(first, second)
            self.assertEqual(one, two)
            kept = sorted((self.scratch / "cache" / "shoal" / "costs").iterdir())
            self.assertEqual(len(kept), 2, "of a gradient, and of other work")
            before = [file.read_text() for file in kept]
            for file in kept:  # a broken file is measured again
                file.write_text("broken")
            self.simulate("c", *TASK, "--workers", "2")
            for file, text in zip(kept, before):
                self.assertEqual(file.read_text().splitlines()[0], text.splitlines()[0])
            kept[0].write_text(before[0].splitlines()[0] + "\n9e9,9e9\n")
            self.simulate("d", *TASK, "--workers", "2", "--ns-per-sample", "measure", "--ns-per-element", "measure")
            self.assertNotIn("9e9", kept[0].read_text())

    def test_what_was_measured_is_kept_and_repeats_the_run(self):
        _, one = self.simulate("a", *TASK, "--workers", "2")
        _, two = self.simulate("b", "--config", self.scratch / "a" / "config.toml")
        self.assertEqual(one["trace_hash"], two["trace_hash"])
        self.assertEqual(one["params_sha256"], two["params_sha256"])

    def test_one_simulated_worker_learns_what_a_live_one_does(self):
        _, simulated = self.simulate("sim", *TASK, *COSTS)
        live = train_support.TrainTest.train(self.scratch / "live", *TASK)
        self.assertEqual(simulated["params_sha256"], live["params_sha256"])
        self.assertEqual(simulated["ledger"], live["ledger"])
        self.assertEqual(simulated["recipe"], live["recipe"])

    def test_workers_share_a_learner_and_have_batches_of_their_own(self):
        plain = [*TASK[:4], "--optimizer", "sgd", "--bucket-bytes", "1024", "--steps", "20", *COSTS]
        losses = []
        for name, workers, batch in (("one", 1, 24), ("three", 3, 8)):
            _, s = self.simulate(name, *plain, "--workers", workers, "--batch", batch)
            losses.append(s["test_loss"])
        self.assertAlmostEqual(losses[0], losses[1], delta=1e-5 * losses[0])

    def test_timing_only_takes_as_long(self):
        arguments = [*TASK, *COSTS, "--workers", "4", "--network", "100mbit:50us", "--like", "pytorch"]
        _, real = self.simulate("real", *arguments)
        _, timed = self.simulate("timed", *arguments, "--timing-only")
        self.assertAlmostEqual(timed["wall_s"] / real["wall_s"], 1, delta=5e-3)
        self.assertIsNone(timed["test_accuracy"])
        _, slower = self.simulate("slower", *arguments, "--timing-only", "--stragglers", "constant:3@1")
        self.assertGreater(slower["wall_s"], 2 * timed["wall_s"])

    def test_a_model_and_data_that_are_not_there(self):
        _, s = self.simulate("none", "--parameters", "25000000", "--timing-only", "--ns-per-sample", "1000000",
                             "--ns-per-element", "reduce=0.5", "--workers", "16", "--hosts-of", "4",
                             "--steps", "3", "--samples", "100000", "--like", "horovod")
        self.assertEqual(s["parameters"], 25000000)
        self.assertEqual(s["system"], "horovod")
        # Each step takes 64 samples of 1 ms, and the exchange of 100 MB more.
        self.assertGreater(s["wall_s"], 3 * 0.064)

    def test_a_worker_that_dies_and_comes_back(self):
        _, s = self.simulate("crash", *TASK, *COSTS, "--workers", "3", "--faults", "crash:1@20ms+30ms")
        self.assertEqual(s["lost_nodes"], 1)
        self.assertEqual(s["ledger"]["consumed"], 3 * 512)
        self.assertEqual(s["ledger"]["repeated"] + s["ledger"]["missing"], 0)
        lines = (self.scratch / "crash" / "metrics.jsonl").read_text().splitlines()
        self.assertEqual(len({json.loads(line)["step"] for line in lines}), s["steps"])

    def test_refused_before_anything_is_made(self):
        cases = {"there is no node 7": ["--faults", "crash:7@1s"], "10gbit:20us": ["--network", "fast"],
                 "--workers 2": ["--like", "a-bsp"], "--resume": ["--resume", self.scratch],
                 "'horovod'": ["--like", "horovdo"]}
        for message, arguments in cases.items():
            out = self.scratch / "refused"
            done = self.run_shoal(*TASK, *arguments, *([] if "--resume" in arguments else ["--out", out]))
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(message, done.stderr)
            self.assertFalse(out.exists())


class Clusters(SimulateTest):
    PHANTOM = ["--timing-only", "--phantom", "resnet-50", "--batch", "32", "--steps", "3", "--like", "pytorch", *COSTS[2:]]

    def test_a_faster_network_takes_less_time(self):
        times = [self.simulate(cluster, *self.PHANTOM, "--workers", "8", "--cluster", cluster)[1]["wall_s"]
                 for cluster in ("1gbit", "10gbit", "infiniband-hdr")]
        self.assertGreater(times[0], 2 * times[1])
        self.assertGreater(times[1], times[2])
        # A ring of 8 at 1 Gbit/s: 2 * 7/8 of 25,557,032 * 4 bytes, three times.
        self.assertGreater(times[0], 3 * 2 * 7 / 8 * 25557032 * 4 / 125e6)

    def test_a_cluster_from_a_file(self):
        file = self.scratch / "c.toml"
        file.write_text('[hosts.a]\ncount = 2\nworkers = 2\nnetwork = "10gbit:20us"\n'
                        '[hosts.b]\nspeed = 0.25\nnetwork = "10gbit:20us"\n')
        text, made = self.simulate("file", *self.PHANTOM, "--cluster", file)
        self.assertEqual(made["workers"], 5)
        self.assertIn("3 hosts", text)
        file.write_text(file.read_text().replace("0.25", "1"))
        _, even = self.simulate("even", *self.PHANTOM, "--cluster", file)
        self.assertGreater(made["wall_s"], 2 * even["wall_s"])

    def test_nonsense_is_refused(self):
        file = self.scratch / "bad.toml"
        file.write_text("[hosts.a]\ncount = -1\nnetwork = \"1gbit:1us\"\n")
        for arguments, words in ((["--cluster", "10gbits"], "10gbit"), (["--cluster", file], "bad.toml:2"),
                                 (["--cluster", "1gbit", "--network", "5gbit:1us"], "omit --network"),
                                 (["--timing-only", "--phantom", "resnet-51"], "resnet-50"),
                                 (["--phantom", "resnet-50"], "add --timing-only"),
                                 (["--timing-only", "--phantom", "vgg-a", "--tflops", "0"], "--tflops 0")):
            done = self.run_shoal(*arguments, "--out", self.scratch / "none")
            self.assertEqual(done.returncode, 1, done)
            self.assertIn(words, done.stderr)


class Systems(SimulateTest):
    def test_every_system_runs_and_says_which_it_was(self):
        systems = json.loads(subprocess.run([SHOAL, "systems", "--json"], capture_output=True, text=True,
                                            check=True).stdout)
        # Its threads update single numbers of the model, which suits only sparse gradients.
        sparse = ["--model", "logistic", "--data", "synthetic:sparse,features=100,pairs=8,n=2000,test=200", "--batch", "8"]
        for system in systems:
            task = sparse if system["recipe"].get("algorithm") == "hogwild" else TASK[:6]
            _, s = self.simulate(system["name"], *task, "--epochs", "2", *COSTS, "--workers", "4",
                                 "--hosts-of", "2", "--like", system["name"])
            self.assertEqual(s["system"], system["name"])
            between_hosts = {"update": "everyone", "exchange": "auto"} if system["adapts"] else {}
            self.assertEqual(s["recipe"], {**system["recipe"], **between_hosts})
            # Adam's and AdamW's steps are small, and in two epochs there are few of them; sparse samples tell less.
            least = {"diloco": 0.7, "ensemble": 0.7, "hogwild": 0.75}.get(system["name"], 0.9)
            self.assertGreater(s["test_accuracy"], least, system["name"])

    def test_factors_come_to_what_gradients_do(self):
        task = ["--model", "mlp:256-128-3", "--data", "synthetic:blobs,features=256,n=512,test=64", "--batch", "8",
                "--steps", "10", *COSTS, "--workers", "2"]
        _, dense = self.simulate("dense", *task, "--like", "pytorch")
        for like in ("sfb", "poseidon"):
            _, s = self.simulate(like, *task, "--like", like)
            self.assertAlmostEqual(s["train_loss"], dense["train_loss"], delta=1e-5, msg=like)
            self.assertLess(8 * s["bytes_sent_per_worker"], dense["bytes_sent_per_worker"], like)
        pushed = [self.simulate(push, *task, "--like", "project-adam", "--consistency", "synchronous", "--push", push)[1]
                  for push in ("factors", "gradients")]
        self.assertAlmostEqual(pushed[0]["train_loss"], pushed[1]["train_loss"], delta=1e-5)


if __name__ == "__main__":
    train_support.main()
