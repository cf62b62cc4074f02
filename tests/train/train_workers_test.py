"""Several workers, each a process: they are killed, frozen, stopped and resumed, and the run still succeeds.

SHOAL_STRIKES: the number of kills per test (2)."""
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time

import train_support
from train_support import (SAME_BITS, SHOAL, Training, TrainTest, complete_checkpoint, metrics, summary,
                           workers_of)

STRIKES = int(os.environ.get("SHOAL_STRIKES", "2"))
# Steps of a millisecond or so.
TINY = ["--model", "mlp:8-16-3", "--data", "synthetic:blobs,features=8,n=2000,test=64", "--batch", "5",
        "--schedule", "constant"]
# 4.9 MB: parameters of this size stay with the owners of their parts.
LARGE = ["--model", "mlp:8-1200-1000-3", *TINY[2:4], "--batch", "50", "--schedule", "constant"]
FASHION = ["--model", "linear", "--data", "fashion-mnist", "--batch", "50", "--epochs", "1"]


class WorkersTest(TrainTest):
    @staticmethod
    def members(training):
        """The number of members in the view that was announced last."""
        views = [line for line in training.text(training.err).splitlines() if line.startswith("shoal: view ")]
        return len(views[-1].split(":")[2].split()) if views else 0

    def begun(self, training, count=4):
        """Waits until all workers have joined and make steps."""
        there = training.wait_until(lambda: self.members(training) == count and training.first_step(), "all workers")
        self.assertTrue(there, training.text(training.err))

    def gone(self, training, count=4):
        training.wait_until(lambda: self.members(training) < count, "a view without it")

    def strike(self, training, rank, number=signal.SIGKILL):
        pid = workers_of(training.process.pid).get(rank)
        if pid is not None:
            os.kill(pid, number)
        return pid

    def assert_whole(self, training, folder, samples, epochs):
        finished = training.finish()
        self.assertEqual(finished.code, 0, finished)
        s = summary(folder)
        self.assertEqual(s["ledger"], {"consumed": samples * epochs, "dropped": 0, "lost": 0, "partial": 0,
                                       "repeated": 0, "missing": 0})
        self.assertEqual(complete_checkpoint(folder), s["steps"])
        made = {line["step"] for line in metrics(folder)}
        self.assertLessEqual(made, set(range(s["steps"])))
        return s


class Together(WorkersTest):
    def test_four_workers_make_what_one_makes_of_the_same_batches(self):
        one = self.train(self.scratch / "one", *TINY[:4], "--batch", "20", "--epochs", "2")
        four = self.train(self.scratch / "four", *TINY[:4], "--batch", "5", "--epochs", "2", "--workers", "4")
        self.assertEqual((four["workers"], four["batch"], four["steps"]), (4, 5, one["steps"]))
        self.assertEqual(four["ledger"], one["ledger"])
        self.assertAlmostEqual(four["test_accuracy"], one["test_accuracy"], delta=0.05)
        self.assertAlmostEqual(four["train_loss"], one["train_loss"], delta=0.1)
        self.assertEqual(four["lost_nodes"], 0)
        self.assertGreater(four["bytes_sent_per_worker"], 0)
        lines = metrics(self.scratch / "four")
        for node in range(4):
            own = [line["step"] for line in lines if line["node"] == node]
            self.assertEqual(own, list(range(four["steps"])), f"node {node}")
        self.assertEqual(sum(line["samples"] for line in lines), 2 * 2000)

    def test_how_they_wait_and_where_they_compute_changes_no_bit(self):
        made = {self.train(self.scratch / flags[-1], *TINY, "--epochs", "1", "--workers", "2", *flags)["params_sha256"]
                for flags in (("--wait-mode", "block"), ("--wait-mode", "spin"), ("--cores", "keep"))}
        self.assertEqual(len(made), 1)

    def test_parameters_that_stay_with_their_owners_are_those_that_everyone_makes(self):
        for optimizer in "sgd", "momentum", "adam":
            made = {self.train(self.scratch / f"{optimizer}-{update}", *LARGE, "--steps", "30", "--workers", "2",
                               "--optimizer", optimizer, "--update", update)["params_sha256"]
                    for update in ("owners", "everyone")}
            self.assertEqual(len(made), 1, optimizer)

    def test_only_one_of_them_prints(self):
        finished = self.start(self.scratch / "prints", *TINY, "--epochs", "1", "--workers", "3").finish()
        self.assertEqual(finished.code, 0, finished)
        self.assertEqual(finished.out.count("epoch 1/1 done"), 1, finished)
        self.assertEqual(finished.out.count("Try next:"), 1, finished)
        self.assertIn("workers   3 processes, 15 samples a step in all", finished.out)

    def test_under_other_launchers_every_process_is_a_worker(self):
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        cases = {"launch": [SHOAL, "launch", "-n", "2", "--"]}
        if shutil.which("mpirun"):
            cases["mpirun"] = mpirun
        for name, words in cases.items():
            folder = self.scratch / name
            done = subprocess.run([*words, SHOAL, "train", *TINY, "--epochs", "1", *SAME_BITS, "--out", folder],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual((summary(folder)["workers"], summary(folder)["steps"]), (2, 200))
            self.assertEqual({line["node"] for line in metrics(folder)}, {0, 1})
        done = subprocess.run([*cases["launch"], SHOAL, "train", *TINY, "--workers", "3", "--out", self.scratch / "x"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("--workers 3: shoal launch has started 2 processes", done.stderr)


class Killed(WorkersTest):
    """For any kills and freezes: every step is made, every sample counts once, and the run ends."""

    def endless(self, name, *arguments):
        return self.start(self.scratch / name, *TINY, "--steps", 10**8, "--save-every", 10**8, *arguments)

    def assert_all_counted(self, training, workers):
        """Stops the run. An epoch has 2000 samples; a step takes 5 per worker."""
        training.process.send_signal(signal.SIGTERM)
        finished = training.finish()
        self.assertEqual(finished.code, 3, finished)
        s = summary(training.folder)
        epochs, steps = divmod(s["steps"], -(-2000 // (5 * workers)))  # The last step of an epoch takes what is left.
        self.assertEqual(s["ledger"], {"consumed": 2000 * epochs + 5 * workers * steps, "dropped": 0, "lost": 0, "partial": 0,
                                       "repeated": 0, "missing": 0})
        self.assertEqual(complete_checkpoint(training.folder), s["steps"])
        self.assertEqual({line["step"] for line in metrics(training.folder)}, set(range(s["steps"])))
        return s

    def test_at_random_moments_and_rank_0(self):
        draw = random.Random(5)
        for waits in "block", "spin":
            training = self.endless(waits, "--workers", "4", "--wait-mode", waits)
            for strike in range(STRIKES):
                self.begun(training)
                time.sleep(draw.random() * 0.2)
                self.strike(training, 0 if strike == 0 else draw.randrange(4))
                self.gone(training)
            self.begun(training)
            self.assertEqual(self.assert_all_counted(training, 4)["lost_nodes"], STRIKES)

    def test_who_has_parameters_that_only_it_keeps(self):
        draw = random.Random(7)
        for workers in 2, 4:
            folder = self.scratch / f"large-{workers}"
            training = self.start(folder, *LARGE, "--epochs", "30", "--workers", str(workers))
            for strike in range(STRIKES):
                self.begun(training, workers)
                time.sleep(draw.random() * 0.2)
                self.strike(training, strike % workers)
                self.gone(training, workers)
            self.begun(training, workers)
            s = self.assert_whole(training, folder, 2000, 30)
            self.assertEqual(s["lost_nodes"], STRIKES)
            self.assertGreater(s["test_accuracy"], 0.9)

    def test_in_the_first_second(self):
        draw = random.Random(6)
        for strike in range(STRIKES):
            folder = self.scratch / f"first-{strike}"
            training = self.start(folder, *TINY, "--epochs", "2", "--workers", "4")
            training.wait_until(lambda: len(workers_of(training.process.pid)) == 4, "the workers")
            time.sleep(draw.random())
            self.strike(training, draw.randrange(4))
            self.assert_whole(training, folder, 2000, 2)

    def test_inside_a_collective_and_accuracy_is_as_without(self):
        whole = self.train(self.scratch / "without", *FASHION, "--workers", "4")
        folder = self.scratch / "with"
        training = self.start(folder, *FASHION, "--workers", "4")
        training.wait_until(training.first_step, "a step")
        self.strike(training, 2, signal.SIGSTOP)
        time.sleep(0.05)  # The others wait for it by then.
        self.strike(training, 2)
        s = self.assert_whole(training, folder, 60000, 1)
        self.assertEqual(s["steps"], whole["steps"])
        self.assertAlmostEqual(s["test_accuracy"], whole["test_accuracy"], delta=0.01)

    def test_a_frozen_worker_is_left_behind_and_rejoins(self):
        training = self.endless("frozen", "--workers", "3")
        self.begun(training, 3)
        pid = self.strike(training, 1, signal.SIGSTOP)
        training.wait_until(lambda: "node 1 out (silent" in training.text(training.err), "its eviction")
        os.kill(pid, signal.SIGCONT)
        training.wait_until(lambda: "node 1.2 in" in training.text(training.err), "its return")
        self.assert_all_counted(training, 3)

    def test_below_the_minimum_the_others_wait(self):
        training = self.endless("minimum", "--workers", "2:2")
        self.begun(training, 2)
        self.strike(training, 1)
        training.wait_until(lambda: "waiting: 1 of at least 2 workers are here" in training.text(training.err),
                            "the news")
        training.wait_until(lambda: "node 1.2 in" in training.text(training.err), "its return")
        time.sleep(0.3)
        told = training.text(training.err)
        self.assert_all_counted(training, 2)
        self.assertEqual(re.findall(r"shoal: view (\d+): 0\.1 1\.(\d):", told), [("1", "1"), ("2", "2")], told)
        self.assertEqual(told.count("shoal: view"), 2, told)


class Stopped(WorkersTest):
    def test_a_time_ends_the_run_with_an_evaluation_and_a_checkpoint(self):
        for like in ("pytorch", "downpour", "gosgd"):
            with self.subTest(like):
                folder = self.scratch / like
                finished = self.start(folder, *TINY, "--like", like, "--workers", "2", "--budget", "1.5s").finish()
                self.assertEqual(finished.code, 0, finished)
                s = summary(folder)
                self.assertGreaterEqual(s["wall_s"], 1.5)
                self.assertLess(s["wall_s"], 4)
                self.assertEqual(s["evaluations"][-1]["step"], s["steps"])
                self.assertEqual(complete_checkpoint(folder), s["steps"])
                self.assertNotIn("stopped after step", finished.out)

    def test_all_stop_after_the_same_step_and_any_number_goes_on(self):
        folder = self.scratch / "stopped"
        training = self.start(folder, *TINY, "--epochs", "20", "--workers", "4", "--save-every", "100000")
        self.begun(training)
        training.process.send_signal(signal.SIGTERM)
        finished = training.finish()
        self.assertEqual(finished.code, 3, finished)
        self.assertEqual(finished.err.count("stopping after this step"), 1, finished)
        self.assertNotIn("failed", finished.err)
        stopped = summary(folder)["steps"]
        self.assertIn(f"stopped after step {stopped} of 2000", finished.out)
        self.assertEqual([path.name for path in (folder / "checkpoint").glob("step-*")], [f"step-{stopped}"])
        made = {}
        for line in metrics(folder):
            made.setdefault(line["node"], []).append(line["step"])
        # A worker that learns of the end during the last step takes the result from the others.
        last = {node: steps[-1] for node, steps in made.items()}
        self.assertEqual(sorted(last), [0, 1, 2, 3])
        self.assertLessEqual(set(last.values()), {stopped - 2, stopped - 1}, last)
        self.assertIn(stopped - 1, last.values())
        for workers in (2, 1):
            copy = self.scratch / f"goes-on-with-{workers}"
            shutil.copytree(folder, copy)
            finished = self.resume(copy, "--workers", workers).finish()
            self.assertEqual(finished.code, 0, finished)
            self.assertIn(f"  step {stopped + 1}/2000", finished.out)
            s = summary(copy)
            self.assertEqual((s["workers"], s["steps"]), (workers, 2000))
            self.assertEqual(s["ledger"]["consumed"], 20 * 2000)

    def test_the_second_signal_ends_it_at_once(self):
        training = self.start(self.scratch / "twice", "--model", "mlp:784-2048-2048-10", "--data",
                              "synthetic:images,n=2048,test=1", "--batch", "512", "--steps", "1000", "--workers", "2")
        training.wait_until(training.first_step, "a step")
        for _ in range(2):
            training.process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        self.assertEqual(training.finish().code, 128 + signal.SIGINT)


class Failed(WorkersTest):
    def test_an_error_of_a_worker_ends_the_run_once_and_nobody_is_started_again(self):
        folder = self.scratch / "diverged"
        finished = self.start(folder, *TINY[:4], "--batch", "4", "--lr", "1e10", "--save-every", "1", "--steps",
                              "400", "--workers", "3").finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertEqual(len(re.findall("^shoal: the loss became", finished.err, re.MULTILINE)), 1, finished)
        self.assertIn("Hint:", finished.err)
        self.assertNotIn("restarting it", finished.err)
        self.assertFalse((folder / "error.txt").exists())

    def test_a_worker_that_fails_does_not_wait_for_others_that_wait_for_it(self):
        # Fast steps and no checkpoints: the others still read the failed worker's gradient when it fails.
        for servers in [[], ["--like", "mxnet"], ["--like", "sparknet", "--local-steps", "2"]]:
            folder = self.scratch / "-".join(["fails", *servers])
            finished = self.start(folder, "--model", "mlp:784-64-10", "--data", "fashion-mnist", "--steps", "200",
                                  "--lr", "1e9", "--workers", "3", "--no-tune", *servers).finish()
            self.assertEqual(finished.code, 1, finished)
            first = next(line for line in finished.err.splitlines() if "failed" in line)
            self.assertIn("it failed: the loss became", first)
            self.assertRegex(finished.err, "(?m)^shoal: the loss became")

    def test_when_all_restarts_are_used_up_the_run_ends(self):
        training = self.start(self.scratch / "restarts", *TINY, "--epochs", "1000", "--workers", "2", "--restarts", "0")
        self.begun(training, 2)
        self.strike(training, 1)
        finished = training.finish()
        self.assertEqual(finished.code, 128 + signal.SIGKILL, finished)
        self.assertIn("worker 1 failed first: killed by signal 9", finished.err)

    def test_what_cannot_be_is_refused_before_anything_is_started(self):
        cases = {
            r"--workers 0: take an integer": ["--workers", "0"],
            r"--workers x: take an integer": ["--workers", "x"],
            r"--workers 8:2: the minimum 8 is above the maximum 2": ["--workers", "8:2"],
            r"--batch 1000 for each of 4 workers: the data has only 2000": ["--workers", "4", "--batch", "1000"],
            r"--global-batch 3: that is less than a sample for each of 4": ["--workers", "4", "--global-batch", "3"],
            r"--keep-batch": ["--workers", "2", "--keep-batch", "both"],
            r"--partition by-label: .*one order of all samples": ["--workers", "2", "--partition", "by-label"],
        }
        for message, arguments in cases.items():
            out = self.scratch / "refused"
            words = TINY if "--batch" not in arguments else [*TINY[:4], "--steps", "4"]
            finished = Training(out, *words, *arguments, "--out", out).finish()
            self.assertEqual(finished.code, 1, finished)
            self.assertRegex(finished.err, message)
            self.assertFalse(out.exists())
        out = self.scratch / "wrong-model"
        finished = Training(out, "--model", "lenett", *TINY[2:], "--workers", "2", "--out", out).finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, "lenett.*lenet")
        self.assertFalse(out.exists())


class LeftBehind(WorkersTest):
    def test_nothing_when_the_launcher_is_killed(self):
        before = set(os.listdir("/dev/shm"))
        training = self.start(self.scratch / "killed", *TINY, "--epochs", "1000", "--workers", "3")
        self.begun(training, 3)
        workers = workers_of(training.process.pid)
        self.assertEqual(set(workers), {0, 1, 2})
        training.kill()
        training.finish()
        end = time.monotonic() + 10
        while any(pathlib.Path(f"/proc/{pid}").exists() for pid in workers.values()):
            self.assertLess(time.monotonic(), end, "workers outlive their launcher")
            time.sleep(0.01)
        self.assertLessEqual(set(os.listdir("/dev/shm")), before)


if __name__ == "__main__":
    train_support.main()
