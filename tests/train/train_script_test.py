"""A network written in Python trains with `shoal`, and is read back into Python; settings in files equal those in
flags."""
import os
import random
import sys

import train_support
from train_support import TrainTest

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "support"))

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402

FEATURES = 6
BASE = ["--steps", "60", "--batch", "16"]


def write_table(path, n):
    """Rows of numbers, each with the class that they determine."""
    draw = random.Random(3)
    with open(path, "w") as file:
        file.write(",".join(f"x{i}" for i in range(FEATURES)) + ",kind\n")
        for _ in range(n):
            row = [draw.uniform(-2, 2) for _ in range(FEATURES)]
            kind = 0 if row[0] + row[1] > 0.5 else 1 if row[2] * row[3] > 0 else 2
            file.write(",".join(f"{x:.6f}" for x in row) + f",{kind}\n")


WORD = (1 << 64) - 1


def philox4x64(c, k):
    """Philox4x64-10 (Salmon et al. 2011): which rows are held out is drawn with it."""
    for _ in range(10):
        p0, p1 = 0xD2E7470EE14C6C93 * c[0], 0xCA5A826395121157 * c[2]
        c = [(p1 >> 64) ^ c[1] ^ k[0], p1 & WORD, (p0 >> 64) ^ c[3] ^ k[1], p0 & WORD]
        k = [(k[0] + 0x9E3779B97F4A7C15) & WORD, (k[1] + 0xBB67AE8584CAA73B) & WORD]
    return c


def held_out(seed, row, fraction=0.1):
    """Whether a row is held out, by the rule of data/rows.cc."""
    if row < 2:
        return row == 1
    purpose = 14
    return (philox4x64([0, row, 0, 0], [seed, purpose])[0] >> 11) * 2.0 ** -53 < fraction


def standardized(table, seed):
    """Inputs and classes of the held-out rows, standardized by the other rows."""
    rows = [[float(x) for x in line.split(",")] for line in table.read_text().splitlines()[1:]]
    test = torch.tensor([row for i, row in enumerate(rows) if held_out(seed, i)],
                        dtype=torch.float64)
    train = torch.tensor([row for i, row in enumerate(rows) if not held_out(seed, i)],
                         dtype=torch.float64)[:, :FEATURES]
    x = (test[:, :FEATURES] - train.mean(0)) / train.std(0, unbiased=False)
    return x.float(), test[:, FEATURES].long()


class Scripted(TrainTest):
    def test_it_trains_and_its_checkpoint_is_the_state_of_the_python_module(self):
        import safetensors_reader
        table = self.scratch / "table.csv"
        write_table(table, 400)
        torch.manual_seed(1)
        net = torch.nn.Sequential(torch.nn.Linear(FEATURES, 32), torch.nn.BatchNorm1d(32),
                                  torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(32, 3))
        model = self.scratch / "net.pt"
        torch.jit.script(net).save(str(model))
        result = self.train(self.scratch / "run", "--model", model,
                            "--data", f"csv:{table}:label=kind", *BASE, "--seed", "7",
                            "--optimizer", "adam", "--lr", "0.01")
        step = self.scratch / "run" / "checkpoint" / "step-60"
        _, state = safetensors_reader.load(step / "model.safetensors")
        self.assertEqual(set(state), set(net.state_dict()))
        self.assertEqual(int(state["1.num_batches_tracked"]), 60)
        net.load_state_dict(state)
        net.eval()
        x, y = standardized(table, 7)
        with torch.no_grad():
            output = net(x)
        self.assertAlmostEqual(result["test_loss"] / F.cross_entropy(output, y).item(), 1, delta=1e-4)
        right = (output.argmax(1) == y).float().mean().item()
        self.assertAlmostEqual(result["test_accuracy"], right, delta=1e-6)
        self.assertGreater(right, 0.7)


class Settings(TrainTest):
    ARGUMENTS = ["--model", "mlp:8-4-3", "--data", "synthetic:blobs,features=8,n=128,test=16"]

    def test_a_file_says_what_flags_say_and_flags_win(self):
        flags = self.train(self.scratch / "flags", *self.ARGUMENTS, "--steps", "12", "--lr", "0.02",
                           "--batch", "32", "--optimizer", "nesterov", "--momentum", "0.8")
        file = self.scratch / "run.toml"
        file.write_text('model = "mlp:8-4-3"\ndata = "synthetic:blobs,features=8,n=128,test=16"\n'
                        'steps = 999\nlr = "0.02"\nbatch = 32\noptimizer = "nesterov"\n'
                        'momentum = "0.8"\n')
        config = self.train(self.scratch / "config", "--config", file, "--steps", "12")
        self.assertEqual(flags["params_sha256"], config["params_sha256"])
        self.assertEqual(config["steps"], 12)

        # The saved configuration repeats the run.
        again = self.train(self.scratch / "again", "--config", self.scratch / "flags/config.toml")
        self.assertEqual(again["params_sha256"], flags["params_sha256"])
        # Another seed gives another run.
        other = self.train(self.scratch / "other", "--config", file, "--steps", "12", "--seed", "2")
        self.assertNotEqual(other["params_sha256"], flags["params_sha256"])


if __name__ == "__main__":
    train_support.main()
