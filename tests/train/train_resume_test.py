"""Training that is interrupted, in any way, ends with the bits of an uninterrupted run.

SHOAL_STRIKES: the number of kills (8)."""
import os
import random
import shutil
import signal
import time

import train_support
from train_support import TrainTest, complete_checkpoint, summary

# Two slots of the optimizer, a schedule that knows the step, epochs that end inside the run.
SMALL = ["--model", "mlp:8-16-3", "--data", "synthetic:blobs,features=8,n=650,test=64",
         "--optimizer", "adam", "--steps", "120", "--save-every", "4"]
# Running statistics and a momentum.
CONVOLUTIONS = ["--model", "resnet:20", "--data", "synthetic:images,size=8,n=64,test=16",
                "--batch", "4", "--save-every", "8", "--schedule", "constant"]
# Steps of a second or so.
SLOW = ["--model", "mlp:784-2048-2048-10", "--data", "synthetic:images,n=2048,test=1",
        "--batch", "1024", "--steps", "1000"]


class Killed(TrainTest):
    def test_whenever_it_is_killed_it_goes_on_from_the_last_complete_checkpoint(self):
        strikes = int(os.environ.get("SHOAL_STRIKES", "8"))
        draw = random.Random(20241)
        began = time.monotonic()
        whole = self.train(self.scratch / "whole", *SMALL)
        took = time.monotonic() - began
        folder, runs, made = self.scratch / "killed-0", 0, 0
        while made < strikes:
            seen = complete_checkpoint(folder)
            training = self.go_on(folder)
            # At any phase of a run: while it starts, or some steps later.
            if draw.random() < 0.7:
                training.wait_until(training.first_step, "a step")
                time.sleep(draw.random() * took * 0.3)
            else:
                time.sleep(draw.random() * took * 0.5)
            complete = complete_checkpoint(folder)
            training.kill()
            first = training.first_step()
            finished = training.finish()
            self.assertIn(finished.code, (0, -signal.SIGKILL), finished)
            if first is not None:
                self.assertGreaterEqual(first, seen + 1, "it went back behind a checkpoint")
            self.assertGreaterEqual(complete_checkpoint(folder), complete)
            if finished.code == 0:  # It was faster.
                self.assert_same(whole, summary(folder))
                runs += 1
                folder = self.scratch / f"killed-{runs}"
                continue
            made += 1
        finished = self.go_on(folder).finish()
        self.assertEqual(finished.code, 0, finished)
        self.assertNotIn("warning", finished.err)
        self.assert_same(whole, summary(folder))

    def go_on(self, folder):
        begun = (folder / "config.toml").exists()
        return self.resume(folder) if begun else self.start(folder, *SMALL)

    def assert_same(self, whole, broken):
        for key in ("params_sha256", "test_loss", "test_accuracy", "steps"):
            self.assertEqual(whole[key], broken[key], key)


class Signalled(TrainTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.train(cls.scratch / "whole", *SMALL)

    def stop_and_go_on(self, number):
        folder = self.scratch / f"stopped-{number}"
        training = self.start(folder, *SMALL)
        self.assertTrue(training.wait_until(training.first_step, "a step"))
        training.process.send_signal(number)
        finished = training.finish()
        self.assertEqual(finished.code, 3, finished)
        self.assertIn("stopping after this step", finished.err)
        step = summary(folder)["steps"]
        self.assertLess(step, 120)
        self.assertIn(f"stopped after step {step} of 120", finished.out)
        self.assertEqual(complete_checkpoint(folder), step)

        finished = self.resume(folder).finish()
        self.assertEqual(finished.code, 0, finished)
        self.assertIn(f"  step {step + 1}/120", finished.out)
        self.assertEqual(summary(folder)["params_sha256"], self.whole["params_sha256"])

    def test_an_interrupt_leaves_a_checkpoint_of_the_step_it_stopped_at(self):
        self.stop_and_go_on(signal.SIGINT)

    def test_so_does_a_request_to_terminate(self):
        self.stop_and_go_on(signal.SIGTERM)

    def test_a_second_signal_ends_it_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            training = self.start(self.scratch / f"slow-{number}", *SLOW)
            self.assertTrue(training.wait_until(training.first_step, "a step"))
            training.process.send_signal(number)
            self.assertTrue(training.wait_until(
                lambda: "again: at once" in training.text(training.err), "its answer"))
            training.process.send_signal(number)
            finished = training.finish()
            self.assertEqual(finished.code, 128 + number, finished)


class Damaged(TrainTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.whole = cls.train(cls.scratch / "whole", *CONVOLUTIONS, "--steps", "20")
        cls.train(cls.scratch / "begun", *CONVOLUTIONS, "--steps", "16")

    def go_on_after(self, damage, part):
        """Damages the newest checkpoint; the previous one stays intact."""
        folder = self.scratch / f"without-{part}"
        shutil.copytree(self.scratch / "begun", folder)
        damage(folder / "checkpoint" / "step-16")
        finished = self.resume(folder, "--steps", "20").finish()
        self.assertEqual(finished.code, 0, finished)
        self.assertRegex(finished.err, f"warning: .*step-16.*{part}")
        self.assertEqual(len(finished.err.splitlines()), 1, finished.err)
        self.assertIn("  step 9/20", finished.out)
        self.assertEqual(summary(folder)["params_sha256"], self.whole["params_sha256"])
        return folder

    def test_of_a_checkpoint_with_a_flipped_bit_the_one_before_is_taken(self):
        def flip(step):
            with open(step / "model.safetensors", "r+b") as file:
                file.seek(5000)
                byte = file.read(1)[0]
                file.seek(5000)
                file.write(bytes([byte ^ 4]))
        folder = self.go_on_after(flip, "model.safetensors")
        # The damaged checkpoint does not stand in the way any more.
        finished = self.resume(folder, "--steps", "21").finish()
        self.assertEqual((finished.code, finished.err), (0, ""), finished)
        self.assertIn("  step 21/21", finished.out)

    def test_of_one_that_was_cut_short(self):
        def cut(step):
            file = step / "optimizer.safetensors"
            os.truncate(file, file.stat().st_size // 2)
        self.go_on_after(cut, "optimizer.safetensors")

    def test_when_none_is_whole_nothing_begins_anew_by_itself(self):
        folder = self.scratch / "all-damaged"
        shutil.copytree(self.scratch / "begun", folder)
        for step in (folder / "checkpoint").glob("step-*"):
            os.truncate(step / "model.safetensors", 100)
        finished = self.resume(folder, "--steps", "20").finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertIn("all checkpoints are broken", finished.err)
        self.assertIn("Hint:", finished.err)

    def test_of_one_without_its_manifest(self):
        self.go_on_after(lambda step: (step / "manifest").unlink(), "manifest")


if __name__ == "__main__":
    train_support.main()
