"""Decentral training, with a process per model: workers are killed, stopped and resumed; every sample is trained on."""
import random
import signal
import time

import train_support
from train_servers_test import ServersTest
from train_support import complete_checkpoint, metrics, summary

TINY = ["--model", "mlp:8-16-3", "--data", "synthetic:blobs,features=8,n=2000,test=64", "--batch", "5",
        "--schedule", "constant"]
SYSTEMS = ["sparknet", "bmuf", "diloco", "easgd", "d-psgd", "ad-psgd", "gosgd", "malt", "tree-easgd", "mpca-sgd",
           "crossbow", "deepspark", "ako", "dogwild"]


class Learn(ServersTest):
    def test_every_system_and_every_sample_counts_once(self):
        for like in SYSTEMS:
            with self.subTest(like):
                s = self.train(self.scratch / like, *TINY, "--like", like, "--epochs", "8", "--workers", "3")
                self.assert_ledger(s, 8 * 2000)
                self.assertEqual((s["system"], s["lost_nodes"]), (like, 0))
                self.assertGreater(s["test_accuracy"], 0.85)
                self.assertEqual(len(s["consensus_error"]), 8)
                self.assertTrue(all(error >= 0 for error in s["consensus_error"]), s["consensus_error"])

    def test_a_model_is_sent_once_in_tau_steps(self):
        sent = {}
        for tau in (1, 10):
            s = self.train(self.scratch / str(tau), *TINY, "--like", "sparknet", "--local-steps", tau, "--epochs", "2",
                           "--workers", "2")
            sent[tau] = s["bytes_sent_per_worker"]
        # A meeting of two sends each model once; the other bytes belong to the end of each epoch.
        model = 4 * (8 * 16 + 16 + 16 * 3 + 3)
        self.assertAlmostEqual((sent[1] - sent[10]) / model, 400 - 40, delta=40)


class Hogwild(ServersTest):
    SPARSE = ["--like", "hogwild", "--model", "logistic", "--data", "synthetic:sparse,features=500,pairs=8,n=6000,test=500",
              "--batch", "500", "--lr", "0.3"]

    def test_threads_that_share_a_model_learn(self):
        for workers, threads in ((1, 1), (1, 2), (2, 2)):
            with self.subTest(workers=workers, threads=threads):
                s = self.train(self.scratch / f"{workers}-{threads}", *self.SPARSE, "--learners", threads, "--epochs", "6",
                               "--workers", workers)
                self.assert_ledger(s, 6 * 6000)
                self.assertEqual((s["system"], s["recipe"]["learners"]), ("hogwild", str(threads)))
                self.assertGreater(s["test_accuracy"], 0.85)

    def test_what_it_is_not_for(self):
        cases = {r"--algorithm hogwild with momentum.*take --optimizer sgd": [*self.SPARSE, "--optimizer", "momentum"],
                 r"--model logistic with .*3 classes.*another --model": ["--model", "logistic", "--data",
                                                                                  "synthetic:blobs,features=4,classes=3"],
                 r"--algorithm hogwild with a model that threads.*--model logistic": [*TINY, "--like", "hogwild"]}
        for message, arguments in cases.items():
            out = self.scratch / "refused"
            finished = train_support.Training(out, *arguments, "--epochs", "1", "--out", out).finish()
            self.assertEqual(finished.code, 1, finished)
            self.assertRegex(finished.err, message)


class Ensemble(ServersTest):
    def test_all_together_lose_less_than_their_members(self):
        for model in (["--model", "logistic", "--data", "synthetic:sparse,features=300,pairs=8,n=3000,test=1000"], TINY[:4]):
            for way in ("mean", "vote"):
                with self.subTest(model=model[1], way=way):
                    s = self.train(self.scratch / f"{model[1]}-{way}", *model, "--batch", "10", "--like", "ensemble",
                                   "--combine", way, "--epochs", "4", "--workers", "3")
                    self.assert_ledger(s, 4 * int(model[3].split("n=")[1].split(",")[0]))
                    self.assertLessEqual(s["test_loss"], s["members_loss"])
                    self.assertGreater(s["test_accuracy"], 0.7)
                    self.assertGreaterEqual(s["test_accuracy"], s["members_accuracy"] - 0.01)


class Killed(ServersTest):
    def test_one_of_three_and_it_comes_back(self):
        draw = random.Random(9)
        for like in ("sparknet", "easgd", "gosgd", "mpca-sgd", "crossbow", "ako"):
            with self.subTest(like):
                folder = self.scratch / like
                training = self.start(folder, *TINY, "--like", like, "--epochs", "20", "--workers", "3")
                self.begun(training, 3)
                time.sleep(0.2 * draw.random())
                self.strike(training, draw.randrange(3), 3)
                finished = training.finish()
                self.assertEqual(finished.code, 0, finished)
                s = summary(folder)
                self.assert_ledger(s, 20 * 2000)
                self.assertGreater(s["test_accuracy"], 0.85)


class Stopped(ServersTest):
    def test_it_saves_the_model_that_counts_and_goes_on_from_there(self):
        folder = self.scratch / "stopped"
        training = self.start(folder, *TINY, "--like", "easgd", "--epochs", "60", "--workers", "3")
        self.begun(training, 3)
        training.process.send_signal(signal.SIGTERM)
        finished = training.finish()
        self.assertEqual(finished.code, 3, finished)
        stopped = summary(folder)
        self.assertEqual(complete_checkpoint(folder), stopped["steps"])
        self.assertGreater(len(metrics(folder)), 0)
        kept = folder / "checkpoint" / f"step-{stopped['steps']}"
        self.assertEqual(sorted(f.name for f in kept.glob("worker-*")), [f"worker-{k}.safetensors" for k in range(3)])
        finished = self.resume(folder, "--workers", "2").finish()
        self.assertEqual(finished.code, 0, finished)
        self.assert_ledger(summary(folder), 60 * 2000)


class Refused(ServersTest):
    def test_what_cannot_be_and_what_to_do_instead(self):
        each = [*TINY, "--like", "sparknet"]
        cases = {
            r"--local-steps 0: expected a whole number from 1 on": [*each, "--local-steps", "0"],
            r"as many --overlap-steps as --local-steps.*take --overlap-steps 4": [*each, "--local-steps", "5", "--overlap-steps", "5"],
            r"--alpha 1.5: expected a number from 0 to 1, or auto": [*TINY, "--like", "easgd", "--alpha", "1.5"],
            r"--center-rate 0.5 with 4 workers.*at most 0.25": [*TINY, "--like", "easgd", "--center-rate", "0.5"],
            r"--gossip 2: expected a number from 0 to 1": [*TINY, "--like", "gosgd", "--gossip", "2"],
            r"--drop-probability 1.5.*from 0 to 1": [*TINY, "--like", "dogwild", "--drop-probability", "1.5"],
            r"--learners 40.*from 0 to 16": [*TINY, "--like", "crossbow", "--learners", "40"],
            r"--pace does not go with --update decentral --algorithm learners.*--pace goes with --algorithm elastic":
                [*TINY, "--like", "crossbow", "--pace", "async"],
            r"--local-steps does not go with --update decentral --algorithm parts":
                [*TINY, "--like", "ako", "--local-steps", "2"],
            r"--topology does not go with --update decentral --algorithm tree":
                [*TINY, "--like", "tree-easgd", "--topology", "ring"],
            r"--block-momentum 1.5.*from 0 to 0.999": [*TINY, "--like", "bmuf", "--block-momentum", "1.5"],
            r"--topology regular:5 with 4 workers.*complete": [*TINY, "--like", "d-psgd",
                                                               "--topology", "regular:5"],
            r"--topology rign: .*is not known.*Did you mean 'ring'": [*TINY, "--like", "d-psgd", "--topology", "rign"],
            r"--local-steps does not go with --update owners.*--local-steps goes with --algorithm average": [*TINY, "--local-steps", "5"],
            r"--save-every 5 with --update decentral.*omit it": [*each, "--save-every", "5"],
        }
        self.assert_refused(cases, 4)


if __name__ == "__main__":
    train_support.main()
