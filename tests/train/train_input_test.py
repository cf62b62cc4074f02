"""Invalid input is refused with one clear message, and leaves no partial run behind."""
import os
import pathlib
import struct
import subprocess
import tempfile

import train_support
from train_support import TrainTest, Training, complete_checkpoint

TINY = ["--model", "mlp:8-4-3", "--data", "synthetic:blobs,features=8,n=128,test=16", "--steps", "4"]


class Refused(TrainTest):
    def refuse(self, message, *arguments):
        """Exit code 1, this message, no run folder."""
        out = pathlib.Path(tempfile.mkdtemp(dir=self.scratch)) / "run"
        finished = Training(out, *arguments, "--out", out).finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, message)
        self.assertRegex(finished.err, r"\Ashoal( train)?: ")
        self.assertLessEqual(len(finished.err.splitlines()), 3, finished.err)
        self.assertNotIn("terminate", finished.err)
        self.assertFalse(out.exists(), "a run folder is left behind")
        return finished

    def file(self, name, content):
        path = self.scratch / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def idx(self, name, images):
        """Makes a folder with four labels and these images."""
        for part in ("train", "t10k"):
            self.file(f"{name}/{part}-images-idx3-ubyte", images)
            self.file(f"{name}/{part}-labels-idx1-ubyte",
                      struct.pack(">2I", 0x0801, 4) + bytes([0, 1, 2, 9]))
        return f"idx:{self.scratch / name}"

    def test_data_that_cannot_be_read(self):
        lenet = ["--model", "lenet", "--batch", "2", "--data"]
        self.refuse(r"nowhere/train-images-idx3-ubyte", *lenet, "idx:/nowhere")
        self.refuse(r"/nowhere.csv", "--model", "linear", "--data", "csv:/nowhere.csv")
        pixels = struct.pack(">4I", 0x0803, 4, 28, 28) + bytes(4 * 784)
        self.refuse(r"train-images-idx3-ubyte", *lenet, self.idx("short", pixels[:1000]))
        self.refuse(r"0x00000d03", *lenet, self.idx(
            "magic", struct.pack(">I", 0x0D03) + pixels[4:]))
        for name in ("test_batch", *(f"data_batch_{k}" for k in range(1, 6))):
            self.file(f"cifar/{name}.bin", bytes(3073) + bytes([200 if name[-1] == "3" else 9]) +
                      bytes(3072))
        self.refuse(r"data_batch_3\.bin.*200", *lenet, f"cifar10:{self.scratch / 'cifar'}")
        table = "a,b,label\n1,2,0\n3,nan,1\n5,6,0\n"
        self.refuse(r"bad\.csv line 3, column 2 \(b\)", "--model", "linear", "--data",
                    f"csv:{self.file('bad.csv', table)}:label=label", "--batch", "1")

    def test_names_with_a_mistake_get_the_nearest(self):
        cases = {"--model": ("lenett", "lenet"), "--data": ("fashion-mnits", "fashion-mnist"),
                 "--optimizer": ("momentun", "momentum"), "--schedule": ("cosin", "cosine"),
                 "--partition": ("globall", "global"), "--memory-format": ("contigous", "contiguous")}
        for flag, (wrong, right) in cases.items():
            others = TINY if flag not in TINY else [
                *TINY[:TINY.index(flag)], *TINY[TINY.index(flag) + 2:]]
            self.refuse(f"{wrong}.*{right}", *others, flag, wrong)
        self.refuse(r"--modell.*--model", *TINY[2:], "--modell", "lenet")
        config = self.file("run.toml", 'model = "lenet"\nmomentun = 0.9\n')
        self.refuse(r"run\.toml:2: .*momentun.*momentum", "--config", config)
        config = self.file("type.toml", 'batch = "many"\n')
        self.refuse(r"type\.toml:1: batch.*number", "--config", config)

    def test_sizes_that_cannot_be(self):
        self.refuse(r"--batch 0", *TINY, "--batch", "0")
        self.refuse(r"--batch 129.*128", *TINY, "--batch", "129")
        self.refuse(r"--epochs 0", *TINY[:4], "--epochs", "0")
        self.refuse(r"--lr -1", *TINY, "--lr", "-1")
        self.refuse(r"--lr x", *TINY, "--lr", "x")
        self.refuse(r"--momentum 0.9: sgd has none; take --optimizer momentum", *TINY, "--optimizer", "sgd",
                    "--momentum", "0.9")
        self.refuse(r"--beta1 0.8: momentum has none", *TINY, "--optimizer", "momentum", "--beta1", "0.8")
        self.refuse(r"--reproducible with --shards 0", *TINY, "--reproducible", "--shards", "0")
        self.refuse(r"mlp.*99.*8", "--model", "mlp:99-3", *TINY[2:])
        self.refuse(r"--model lenet classifies images", "--model", "lenet", *TINY[2:])

    def test_a_file_that_is_no_model(self):
        broken = self.file("broken.pt", "no model at all")
        self.refuse(r"broken\.pt: cannot read it as a TorchScript file", "--model", broken, *TINY[2:])
        self.refuse(r"missing\.pt", "--model", self.scratch / "missing.pt", *TINY[2:])

    def test_a_script_that_does_not_fit_the_data(self):
        import torch
        file = self.scratch / "other.pt"
        torch.jit.script(torch.nn.Linear(7, 3)).save(str(file))
        self.refuse(r"does not fit the data \(8 numbers.*", "--model", file, *TINY[2:])
        torch.jit.script(torch.nn.Linear(8, 2)).save(str(file))
        self.refuse(r"2 classes.* 3", "--model", file, *TINY[2:])


class Folders(TrainTest):
    """Folders that already contain files."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.begun = cls.scratch / "run"
        cls.whole = cls.train(cls.begun, *TINY)

    def refuse(self, message, *arguments):
        before = {path: path.read_bytes() for path in self.begun.rglob("*") if path.is_file()}
        finished = Training(self.begun, *arguments).finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, message)
        after = {path: path.read_bytes() for path in self.begun.rglob("*") if path.is_file()}
        self.assertEqual(before.keys(), after.keys())
        for path, content in before.items():
            self.assertEqual(content, after[path], f"{path} was changed")

    def test_a_second_run_does_not_go_there(self):
        self.refuse("contains a run.*--resume", *TINY, "--out", self.begun)

    def test_what_is_no_run_cannot_go_on(self):
        self.refuse("is it the folder of a run", "--resume", self.scratch / "nothing")

    def test_a_run_goes_on_only_with_its_own_model(self):
        self.refuse("step-4", "--resume", self.begun, "--model", "mlp:8-5-3", "--steps", "8")

    def test_and_optimizer(self):
        self.refuse("optimizer momentum.*optimizer adam", "--resume", self.begun,
                    "--optimizer", "adam", "--steps", "8")

    def test_and_data(self):
        self.refuse("samples 128.*samples 96", "--resume", self.begun, "--data",
                    "synthetic:blobs,features=8,n=96,test=16", "--steps", "8")


class Diverged(TrainTest):
    def test_a_loss_that_is_no_number_ends_the_run_with_step_samples_and_advice(self):
        folder = self.scratch / "diverged"
        arguments = ["--lr", "1e10", "--batch", "4", "--save-every", "1", "--steps", "40"]
        finished = self.start(folder, *TINY[:4], *arguments).finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, r"the loss became (-?nan|inf) in step \d+ \(epoch 0\), on "
                                       r"samples( \d+){4}\nHint: .*--lr")


class FullDisk(TrainTest):
    def setUp(self):
        self.disk = self.scratch / self.id().rpartition(".")[2]
        self.disk.mkdir()
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "none", self.disk],
            stderr=subprocess.DEVNULL).returncode == 0
        if not mounted:
            self.skipTest("to mount a small disk needs root")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.disk], check=True))

    def test_a_full_disk_ends_the_run_and_leaves_the_checkpoint_before(self):
        # A checkpoint has 49 kB: two fit.
        folder = self.disk / "run"
        (self.disk / "ballast").write_bytes(bytes(130_000))
        finished = self.start(folder, "--model", "mlp:8-500-3", *TINY[2:4], "--steps", "40",
                              "--save-every", "1").finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, "No space left on device")
        complete = complete_checkpoint(folder)
        (self.disk / "ballast").unlink()
        finished = self.resume(folder, "--steps", str(complete + 2), "--save-every", "50").finish()
        self.assertEqual(finished.code, 0, finished)
        self.assertIn(f"  step {complete + 1}/", finished.out)

    def test_a_full_disk_ends_the_run_of_several_workers(self):
        folder = self.disk / "run"
        finished = self.start(folder, "--model", "mlp:8-20000-3", *TINY[2:4], "--steps", "400",
                              "--save-every", "1", "--workers", "3", "--batch", "8").finish()
        self.assertEqual(finished.code, 1, finished)
        self.assertRegex(finished.err, "No space left on device")


if __name__ == "__main__":
    train_support.main()
