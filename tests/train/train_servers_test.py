"""Parameter servers, in processes of their own or inside workers: servers and workers are killed, stopped and resumed,
and every sample counts once.

SHOAL_STRIKES: the number of kills per test (2)."""
import os
import random
import signal
import time

import train_support
from train_support import Training, TrainTest, complete_checkpoint, metrics, summary, workers_of

STRIKES = int(os.environ.get("SHOAL_STRIKES", "2"))
# Steps of a millisecond or so.
TINY = ["--model", "mlp:8-16-3", "--data", "synthetic:blobs,features=8,n=2000,test=64", "--batch", "5",
        "--schedule", "constant", "--update", "servers"]


class ServersTest(TrainTest):
    @staticmethod
    def members(training):
        """The number of members in the view that was announced last."""
        views = [line for line in training.text(training.err).splitlines() if line.startswith("shoal: view ")]
        return len(views[-1].split(":")[2].split()) if views else 0

    def begun(self, training, count):
        there = training.wait_until(lambda: self.members(training) == count and training.first_step(), "all nodes")
        self.assertTrue(there, training.text(training.err))

    def strike(self, training, rank, count):
        """Kills it; the others go on."""
        os.kill(workers_of(training.process.pid)[rank], signal.SIGKILL)
        there = training.wait_until(lambda: self.members(training) < count, "a view without it")
        self.assertTrue(there, training.text(training.err))

    def assert_ledger(self, s, consumed, partial=0):
        self.assertEqual(s["ledger"], {"consumed": consumed, "dropped": 0, "lost": 0, "partial": partial,
                                       "repeated": 0, "missing": 0})


    def assert_refused(self, cases, workers=2):
        """Cases: the pattern of the message, and the arguments."""
        for message, arguments in cases.items():
            out = self.scratch / "refused"
            finished = Training(out, *arguments, "--workers", workers, "--out", out).finish()
            self.assertEqual(finished.code, 1, finished)
            self.assertRegex(finished.err, message)
            self.assertFalse(out.exists())


class InStep(ServersTest):
    def test_synchronous_gives_the_same_bits_every_time_and_those_that_owners_give(self):
        shared = [*TINY[:8], "--epochs", "2", "--workers", "2"]
        ways = {"inside": ["--update", "servers"], "apart": ["--update", "servers", "--servers", "2", "--copies", "2"],
                "owners": ["--update", "owners"]}
        results = {way: self.train(self.scratch / way, *shared, *flags) for way, flags in ways.items()}
        self.assertEqual(len({s["params_sha256"] for s in results.values()}), 1, results)
        for way, s in results.items():
            self.assert_ledger(s, 2 * 2000)
            self.assertEqual((s["staleness_max"], s["lost_nodes"]), (0, 0), way)
        self.assertEqual([s["servers"] for s in results.values()], [0, 2, 0])


class Killed(ServersTest):
    def test_a_server_and_what_was_acknowledged_counts(self):
        draw = random.Random(7)
        folder = self.scratch / "server"
        training = self.start(folder, *TINY, "--steps", 10**8, "--workers", "2", "--servers", "3", "--copies", "2")
        for strike in range(STRIKES):
            self.begun(training, 5)
            time.sleep(0.3 + 0.2 * draw.random())
            self.strike(training, 2 if strike == 0 else 2 + draw.randrange(3), 5)
        self.begun(training, 5)
        training.process.send_signal(signal.SIGTERM)
        finished = training.finish()
        self.assertEqual(finished.code, 3, finished)
        s = summary(folder)
        # Workers report what all servers have acknowledged.
        self.assert_ledger(s, sum(line["samples"] for line in metrics(folder)))
        self.assertEqual(s["lost_nodes"], STRIKES)
        self.assertEqual(complete_checkpoint(folder), s["steps"])

    def test_a_server_of_workers_that_are_bound_and_it_learns_all_the_same(self):
        folder = self.scratch / "bounded"
        training = self.start(folder, *TINY, "--epochs", "10", "--workers", "2", "--servers", "2", "--copies", "2",
                              "--consistency", "bounded:3")
        self.begun(training, 4)
        self.strike(training, 2, 4)
        finished = training.finish()
        self.assertEqual(finished.code, 0, finished)
        s = summary(folder)
        self.assert_ledger(s, 10 * 2000)
        self.assertGreater(s["test_accuracy"], 0.9)
        # The other one may be s pushes behind when this one reads, and s + 1 ahead when it pushes.
        self.assertLessEqual(s["staleness_max"], 2 * 3 + 1)

    def test_a_worker_that_nobody_waits_for(self):
        draw = random.Random(8)
        folder = self.scratch / "worker"
        training = self.start(folder, *TINY, "--epochs", "20", "--workers", "3", "--servers", "1", "--consistency",
                              "async")
        self.begun(training, 4)
        self.strike(training, draw.randrange(3), 4)
        finished = training.finish()
        self.assertEqual(finished.code, 0, finished)
        s = summary(folder)
        # One server: a push is applied completely or not at all.
        self.assert_ledger(s, 20 * 2000)
        self.assertEqual(s["lost_nodes"], 1)
        self.assertGreater(s["test_accuracy"], 0.9)

    def test_a_worker_that_is_a_server_too(self):
        folder = self.scratch / "both"
        training = self.start(folder, *TINY, "--epochs", "20", "--workers", "3", "--copies", "2", "--consistency",
                              "async")
        self.begun(training, 3)
        self.strike(training, 0, 3)
        finished = training.finish()
        self.assertEqual(finished.code, 0, finished)
        s = summary(folder)
        # Some servers may have their part of its last push, and others not.
        self.assertLessEqual(s["ledger"]["partial"], 5)
        self.assert_ledger(s, 20 * 2000 - s["ledger"]["partial"], s["ledger"]["partial"])


class Parts(ServersTest):
    def test_every_system_that_pushes_in_parts_learns_and_every_sample_counts(self):
        learns = ["--epochs", "3", "--workers", "2"]
        ways = {"bosen": ["--like", "bosen", "--filter", "magnitude:100000"],
                "gaia": ["--like", "gaia", "--groups", "off", "--filter", "significant:0.3"],
                "site": ["--like", "gaia"],
                "filters": ["--like", "parameter-server", "--filter", "significant:0.05", "--compress"]}
        results = {way: self.train(self.scratch / way, *TINY[:8], *learns, *flags) for way, flags in ways.items()}
        for way, s in results.items():
            self.assert_ledger(s, 3 * 2000)
            self.assertGreater(s["test_accuracy"], 0.9, way)
        plain = self.train(self.scratch / "plain", *TINY[:8], *learns, "--like", "gaia", "--groups", "off",
                           "--filter", "none")
        self.assertLess(results["gaia"]["bytes_sent_per_worker"], plain["bytes_sent_per_worker"])

    def test_what_waits_is_lost_with_its_worker_and_counted(self):
        folder = self.scratch / "worker"
        training = self.start(folder, *TINY, "--epochs", "20", "--workers", "3", "--servers", "2", "--consistency",
                              "async", "--filter", "magnitude:50000")
        self.begun(training, 5)
        # It has pushed for a while, so that the filter holds some back; a slow start would allow more than there is.
        pushed = training.wait_until(lambda: (folder / "metrics.jsonl").exists() and any(
            line["node"] == 1 and line["step"] >= 50 for line in metrics(folder)), "steps of node 1")
        self.assertTrue(pushed, training.text(training.err))
        self.strike(training, 1, 5)
        finished = training.finish()
        self.assertEqual(finished.code, 0, finished)
        s = summary(folder)
        self.assertGreater(s["ledger"]["partial"], 0)
        self.assert_ledger(s, 20 * 2000 - s["ledger"]["partial"], s["ledger"]["partial"])
        self.assertGreater(s["test_accuracy"], 0.9)


class Grouped(ServersTest):
    def test_one_group_gives_the_bits_that_synchronous_training_does(self):
        shared = [*TINY[:8], "--epochs", "2", "--workers", "2", "--optimizer", "sgd"]
        ways = {"owners": ["--update", "owners"],
                "group": ["--update", "servers", "--servers", "1", "--groups", "2", "--consistency", "async"],
                "mxnet": ["--like", "mxnet"]}
        results = {way: self.train(self.scratch / way, *shared, *flags) for way, flags in ways.items()}
        self.assertEqual(len({s["params_sha256"] for s in results.values()}), 1, results)
        for way, s in results.items():
            self.assert_ledger(s, 2 * 2000)
            self.assertEqual((s["staleness_max"], s["lost_nodes"]), (0, 0), way)

    def test_a_leader_and_then_a_member_are_killed_and_every_sample_counts_once(self):
        for way, flags in {"merged": [], "proxied": ["--write-back", "3"]}.items():
            folder = self.scratch / way
            training = self.start(folder, *TINY, "--epochs", "20", "--workers", "4", "--servers", "1", "--groups", "2",
                                  "--consistency", "async", *flags)
            for rank in (0, 3):
                self.begun(training, 5)
                self.strike(training, rank, 5)
            finished = training.finish()
            self.assertEqual(finished.code, 0, finished)
            s = summary(folder)
            self.assert_ledger(s, 20 * 2000)
            self.assertEqual(s["lost_nodes"], 2)
            self.assertGreater(s["test_accuracy"], 0.9)


class Stopped(ServersTest):
    def test_it_saves_and_goes_on_from_there_with_any_number_of_workers(self):
        folder = self.scratch / "stopped"
        training = self.start(folder, *TINY, "--epochs", "20", "--workers", "3", "--servers", "1", "--consistency",
                              "async")
        self.begun(training, 4)
        training.process.send_signal(signal.SIGTERM)
        finished = training.finish()
        self.assertEqual(finished.code, 3, finished)
        stopped = summary(folder)
        self.assert_ledger(stopped, sum(line["samples"] for line in metrics(folder)))
        self.assertEqual(complete_checkpoint(folder), stopped["steps"])
        self.assertIn(f"stopped after step {stopped['steps']} of ", finished.out)
        finished = self.resume(folder, "--workers", "2").finish()
        self.assertEqual(finished.code, 0, finished)
        s = summary(folder)
        self.assertEqual((s["workers"], s["servers"]), (2, 1))
        self.assert_ledger(s, 20 * 2000)
        self.assertGreater(s["steps"], stopped["steps"])


class Refused(ServersTest):
    def test_what_cannot_be_and_what_to_do_instead(self):
        alone = TINY[:-2]
        cases = {
            r"--consistency does not go with --update owners.*goes with --update servers": [*alone, "--consistency", "bounded:3"],
            r"--servers does not go with --update owners.*goes with --update servers": [*alone, "--servers", "2"],
            r"more --copies than servers.*take --copies 2": [*TINY, "--copies", "3", "--servers", "2"],
            r"--copies 0: expected a whole number from 1 on": [*TINY, "--copies", "0"],
            r"--consistency bonded:3.*Did you mean 'bounded'": [*TINY, "--consistency", "bonded:3"],
            r"--consistency bounded:-1": [*TINY, "--consistency", "bounded:-1"],
            r"--consistency softsync:0": [*TINY, "--consistency", "softsync:0"],
            r"--save-every 5 with --update servers.*omit it": [*TINY, "--save-every", "5"],
            r"--batch-growth 2@1 with --update servers.*omit one": [*TINY, "--batch-growth", "2@1"],
            r"--clip-norm 1 with --consistency async.*--consistency synchronous": [
                *TINY, "--clip-norm", "1", "--consistency", "async"],
            r"--optimizer lamb with --consistency bounded:3": [*TINY, "--optimizer", "lamb", "--consistency", "bounded:3"],
            r"--optimizer lars with --consistency backup:1": [*TINY, "--optimizer", "lars", "--consistency", "backup:1"],
            r"--consistency backup:B with B.*take --consistency backup:1": [*TINY, "--consistency", "backup:2"],
            r"--consistency value:0.1 with --optimizer momentum.*--optimizer sgd":
                [*TINY, "--consistency", "value:0.1", "--optimizer", "momentum"],
            r"--weigh.*--consistency async": [*TINY, "--weigh", "staleness"],
            r"--filter significant:-1: v .* a number from 0 on, not '-1'": [*TINY, "--filter", "significant:-1"],
            r"--filter magnitude:0: rate .* a number above 0, not '0'": [*TINY, "--filter", "magnitude:0"],
            r"--filter significnt:1.*Did you mean 'significant'": [*TINY, "--filter", "significnt:1"],
            r"--filter or --barrier with .*take --consistency async": [*TINY, "--filter", "significant:0.1"],
            r"--push factors with --filter or --compress.*take --push gradients":
                [*TINY, "--push", "factors", "--compress"],
            r"--filter does not go with --update owners": [*alone, "--filter", "significant:0.1"],
            r"--groups does not go with --update owners.*goes with --update servers": [*alone, "--groups", "host"],
            r"--groups N with N above.*take --groups 2": [*TINY, "--groups", "3"],
            r"--groups 0: size .* from 1 on, not '0'; or take off or host": [*TINY, "--groups", "0"],
            r"--write-back above 1 without --groups": [*TINY, "--write-back", "2"],
            r"--write-back 0: expected a whole number from 1 on": [*TINY, "--write-back", "0"],
        }
        self.assert_refused(cases)


if __name__ == "__main__":
    train_support.main()
