"""Reproducible runs: the same bits for any number of workers, and through any failures.

SHOAL_WORKERS: the numbers of workers to try ("3"); SHOAL_SCHEDULES: the number of failure schedules (1)."""
import os
import random
import signal
import time

import train_support
from train_support import TrainTest, metrics, summary, workers_of

COUNTS = [int(word) for word in os.environ.get("SHOAL_WORKERS", "3").split(",")]
SCHEDULES = int(os.environ.get("SHOAL_SCHEDULES", "1"))
RUN = ["--reproducible", "--model", "lenet", "--data", "fashion-mnist", "--global-batch", "64", "--steps", "24",
       "--save-every", "1000"]


class Reproducible(TrainTest):
    def one(self):
        """The result of a single worker."""
        folder = self.scratch / "one"
        return summary(folder) if folder.exists() else self.train(folder, *RUN, "--workers", "1")

    def assert_all_computed(self, folder, workers):
        for node in range(workers):
            busy = sum(line["compute_s"] for line in metrics(folder) if line["node"] == node)
            self.assertGreater(busy, 0, f"worker {node} of {workers} never computed")

    def test_any_number_of_workers_gives_the_same_parameters(self):
        for workers in COUNTS:
            several = self.train(self.scratch / f"of-{workers}", *RUN, "--workers", workers)
            self.assertEqual(several["params_sha256"], self.one()["params_sha256"], f"{workers} workers")
            self.assert_all_computed(self.scratch / f"of-{workers}", workers)

    def test_servers_in_step_give_the_parameters_of_owners(self):
        tiny = ["--reproducible", "--model", "mlp:8-16-3", "--data", "synthetic:blobs,features=8,n=500,test=64",
                "--global-batch", "30", "--steps", "40"]
        owners = self.train(self.scratch / "owners", *tiny, "--workers", "2")
        ways = {"inside": ["--workers", "3"],
                "apart": ["--workers", "2", "--servers", "2", "--copies", "2", "--consistency", "bounded:0"]}
        for way, flags in ways.items():
            served = self.train(self.scratch / way, *tiny, "--update", "servers", *flags)
            self.assertEqual((served["params_sha256"], served["steps"]), (owners["params_sha256"], 40), way)

    def test_any_schedule_of_failures_gives_the_same_parameters(self):
        for schedule in range(SCHEDULES):
            draw = random.Random(schedule)
            folder = self.scratch / f"failures-{schedule}"
            training = self.start(folder, *RUN, "--workers", "4")
            training.wait_until(training.first_step, "the first step")
            for _ in range(draw.randint(1, 3)):
                time.sleep(draw.uniform(0.05, 0.4))
                workers = workers_of(training.process.pid)
                if not training.running() or not workers:
                    break
                os.kill(draw.choice(sorted(workers.values())), signal.SIGKILL)
            finished = training.finish()
            self.assertEqual(finished.code, 0, finished)
            self.assertEqual(summary(folder)["params_sha256"], self.one()["params_sha256"],
                             f"schedule {schedule}: {finished}")
            self.assertGreater(summary(folder)["lost_nodes"], 0, "nobody was lost")

    def test_a_run_is_resumed_by_another_number_of_workers(self):
        folder = self.scratch / "resumed"
        begun = self.train(folder, *RUN[:-4], "--steps", "10", "--schedule", "constant", "--workers", "2")
        self.assertEqual(begun["steps"], 10)
        finished = self.resume(folder, "--steps", "24", "--workers", "1").finish()
        self.assertEqual(finished.code, 0, finished)
        whole = self.train(self.scratch / "whole", *RUN[:-4], "--steps", "24", "--schedule", "constant")
        self.assertEqual(summary(folder)["params_sha256"], whole["params_sha256"])


if __name__ == "__main__":
    train_support.main()
