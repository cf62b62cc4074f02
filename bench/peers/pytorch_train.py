"""The peer of `shoal bench train`: PyTorch's ordinary training loop on the same networks.

  pytorch_train.py make FOLDER REPEATS                          writes the data that both train on, 28 x 28 images so many times
  pytorch_train.py train FOLDER MODEL STEPS WARMUP THREADS ETA  prints the median time of a step
  pytorch_train.py ddp FOLDER MODEL STEPS WARMUP THREADS ETA RANK WORKERS STORE
                        the same as one of several ranks of DistributedDataParallel over gloo

The networks are those of src/learner/torch/models_*.cc, layer by layer."""
import math
import pathlib
import statistics
import struct
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH = 64
LENGTH = 64  # of a window of text
IMAGES = 2048  # a multiple of the batch


# ---- Data: classes that can be told apart, bytes as in the files of the real sets.

def images(n, channels, side, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (n,), generator=generator)
    patterns = torch.rand((10, channels, side, side),
                          generator=torch.Generator().manual_seed(99)) * 160
    noise = torch.rand((n, channels, side, side), generator=generator) * 95
    return (patterns[labels] + noise).to(torch.uint8), labels.to(torch.uint8)


def raw(tensor):
    return bytes(tensor.contiguous().flatten().tolist())


def make(folder, repeats):
    (folder / "idx").mkdir()
    (folder / "cifar").mkdir()
    for name, n, seed, times in (("train", IMAGES, 2, repeats), ("t10k", 64, 3, 1)):
        x, y = images(n, 1, 28, seed)
        (folder / "idx" / f"{name}-images-idx3-ubyte").write_bytes(
            struct.pack(">4I", 0x0803, n * times, 28, 28) + raw(x) * times)
        (folder / "idx" / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">2I", 0x0801, n * times) + raw(y) * times)
    x, y = images(IMAGES + 64, 3, 32, 4)
    records = torch.cat([y[:, None], x.flatten(1)], 1)
    cuts = [0, 512, 1024, 1536, 1792, IMAGES, IMAGES + 64]
    names = [f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]
    for name, begin, end in zip(names, cuts, cuts[1:]):
        (folder / "cifar" / name).write_bytes(raw(records[begin:end]))
    words = ["the shoal turns ", "as one fish ", "and none of them ", "has seen the whole; "]
    draws = torch.randint(4, (20000,), generator=torch.Generator().manual_seed(5)).tolist()
    (folder / "text").write_text("".join(words[i] for i in draws))


def load(folder, model):
    """Inputs and targets, in memory."""
    if model in ("lstm", "gru", "transformer"):
        text = (folder / "text").read_bytes()
        alphabet = sorted(set(text))
        numbers = torch.tensor([alphabet.index(byte) for byte in text])
        n = (len(numbers) - 1) // LENGTH // BATCH * BATCH
        x = numbers[:n * LENGTH].view(n, LENGTH)
        return x, numbers[1:n * LENGTH + 1].view(n, LENGTH), len(alphabet)
    if model.split(":")[0] in ("alexnet", "vgg", "resnet"):
        raw_bytes = b"".join((folder / "cifar" / f"data_batch_{k}.bin").read_bytes()
                             for k in range(1, 6))
        records = torch.frombuffer(bytearray(raw_bytes), dtype=torch.uint8).view(IMAGES, 3073)
        labels, pixels = records[:, 0].long(), records[:, 1:].reshape(IMAGES, 3, 32, 32)
    else:
        read = lambda name, head: torch.frombuffer(  # noqa: E731
            bytearray((folder / "idx" / name).read_bytes()), dtype=torch.uint8, offset=head)
        pixels = read("train-images-idx3-ubyte", 16)[:IMAGES * 28 * 28].view(IMAGES, 1, 28, 28)
        labels = read("train-labels-idx1-ubyte", 8)[:IMAGES].long()
    x = pixels.float() / 255
    return (x - x.mean()) / x.std(), labels, 10


# ---- Networks

class Linear(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.fc = nn.Linear(features, classes)

    def forward(self, x):
        return self.fc(x.flatten(1))


class Layers(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return self.layers[-1](x)


class LeNet(nn.Module):
    def __init__(self, channels, side, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 32, 5, padding=2)
        self.conv2 = nn.Conv2d(32, 64, 5, padding=2)
        self.fc1 = nn.Linear(64 * (side // 4) ** 2, 512)
        self.fc2 = nn.Linear(512, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu_(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu_(self.conv2(x)), 2)
        return self.fc2(F.relu_(self.fc1(x.flatten(1))))


class AlexNet(nn.Module):
    """Of small images."""

    def __init__(self, channels, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 64, 5, padding=2)
        self.conv2 = nn.Conv2d(64, 192, 5, padding=2)
        self.conv3 = nn.Conv2d(192, 384, 3, padding=1)
        self.conv4 = nn.Conv2d(384, 256, 3, padding=1)
        self.conv5 = nn.Conv2d(256, 256, 3, padding=1)
        self.fc1 = nn.Linear(256 * 9, 4096)
        self.fc2 = nn.Linear(4096, 4096)
        self.fc3 = nn.Linear(4096, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu_(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu_(self.conv2(x)), 2)
        x = F.relu_(self.conv4(F.relu_(self.conv3(x))))
        x = F.max_pool2d(F.relu_(self.conv5(x)), 2)
        x = F.adaptive_avg_pool2d(x, 3).flatten(1)
        x = F.relu_(self.fc1(F.dropout(x, 0.5, self.training)))
        x = F.relu_(self.fc2(F.dropout(x, 0.5, self.training)))
        return self.fc3(x)


class Vgg(nn.Module):
    def __init__(self, plan, channels, classes):
        super().__init__()
        self.plan = plan
        widths = [width for width in plan if width]
        inputs = [channels, *widths]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, bias=False)
                                   for a, b in zip(inputs, widths))
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in widths)
        self.fc = nn.Linear(widths[-1], classes)

    def forward(self, x):
        i = 0
        for width in self.plan:
            if width == 0:
                x = F.max_pool2d(x, 2)
            else:
                x = F.relu_(self.norms[i](self.convs[i](x)))
                i += 1
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride, project):
        super().__init__()
        self.stride, self.grown = stride, outputs - inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.changes = stride != 1 or self.grown != 0
        self.project = None
        if project and self.changes:
            self.project = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                         nn.BatchNorm2d(outputs))

    def short_way(self, x):
        if self.project is not None:
            return self.project(x)
        if not self.changes:
            return x
        front = self.grown // 2
        return F.pad(x[:, :, ::self.stride, ::self.stride],
                     (0, 0, 0, 0, front, self.grown - front))

    def forward(self, x):
        y = F.relu_(self.norm1(self.conv1(x)))
        return F.relu_(self.norm2(self.conv2(y)) + self.short_way(x))


class ResNet(nn.Module):
    def __init__(self, widths, blocks, project, channels, classes):
        super().__init__()
        self.conv = nn.Conv2d(channels, widths[0], 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(widths[0])
        self.blocks, inputs = nn.Sequential(), widths[0]
        for stage, width in enumerate(widths):
            for b in range(blocks):
                stride = 2 if stage > 0 and b == 0 else 1
                self.blocks.append(Block(inputs, width, stride, project))
                inputs = width
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.blocks(F.relu_(self.norm(self.conv(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    def __init__(self, cell, symbols, width):
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.cell = cell(width, width, batch_first=True)
        self.head = nn.Linear(width, symbols)

    def forward(self, tokens):
        return self.head(self.cell(self.embed(tokens))[0])


class TransformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, x, future):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(c // self.heads))
        weights = weights.masked_fill(future, -math.inf).softmax(-1)
        return self.project((weights @ v).transpose(1, 2).reshape(b, t, c))

    def forward(self, x, future):
        x = x + self.attention(self.norm1(x), future)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, symbols, length, width, layers, heads):
        super().__init__()
        self.embed, self.place = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, tokens):
        t = tokens.size(1)
        future = torch.ones(t, t, dtype=torch.bool).triu(1)
        x = self.embed(tokens) + self.place(torch.arange(t))
        for block in self.blocks:
            x = block(x, future)
        return self.head(self.norm(x))


VGG11 = [64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0]


def network(model, classes):
    name, _, rest = model.partition(":")
    numbers = [int(n) for n in rest.split("-")] if rest else []
    return {
        "linear": lambda: Linear(784, classes),
        "mlp": lambda: Layers(numbers),
        "autoencoder": lambda: Layers([784, 256, 32, 256, 784]),
        "lenet": lambda: LeNet(1, 28, classes),
        "alexnet": lambda: AlexNet(3, classes),
        "vgg": lambda: Vgg(VGG11, 3, classes),
        "resnet": lambda: (ResNet([64, 128, 256, 512], 2, True, 3, classes) if numbers == [18] else
                           ResNet([16, 32, 64], (numbers[0] - 2) // 6, False, 3, classes)),
        "lstm": lambda: Recurrent(nn.LSTM, classes, 128),
        "gru": lambda: Recurrent(nn.GRU, classes, 128),
        "transformer": lambda: Transformer(classes, LENGTH, 128, 4, 4),
    }[name]()


def loss_of(model, output, x, y):
    if model == "autoencoder":
        return F.mse_loss(output, x.flatten(1))
    return F.cross_entropy(output.flatten(0, -2), y.flatten())


# ---- The loop

def activations(net, model, x, y):
    """Bytes that a forward pass keeps for the backward pass, parameters aside."""
    own = {getattr(p, "untyped_storage", p.storage)().data_ptr() for p in net.parameters()}
    kept = {}

    def keep(tensor):
        storage = getattr(tensor, "untyped_storage", tensor.storage)()
        if storage.data_ptr() not in own:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = loss_of(model, net(x), x, y)  # held, so that no memory is used twice
    del loss
    return sum(kept.values())


def train(folder, model, steps, warmup, threads, eta, rank=0, workers=1):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    inputs, targets, classes = load(folder, model)
    net = network(model, classes)
    if workers > 1:
        net = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=eta, momentum=0.9)
    times, losses = [], []
    at = rank * BATCH
    for _ in range(steps):
        begin = time.perf_counter()
        x, y = inputs[at:at + BATCH], targets[at:at + BATCH]
        at = (at + workers * BATCH) % len(inputs)
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model, net(x), x, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        times.append(time.perf_counter() - begin)
    if rank > 0:
        return
    print("parameters", sum(p.numel() for p in net.parameters()))
    print("first_loss", losses[0])
    print("last_loss", statistics.mean(losses[-3:]))
    print("step_s", statistics.median(times[warmup:]))
    print("mean_s", statistics.mean(times[warmup:]))
    print("activations", activations(net, model, inputs[:BATCH], targets[:BATCH]))


def ddp(arguments):
    rank, workers = int(arguments[8]), int(arguments[9])
    torch.distributed.init_process_group("gloo", init_method=f"file://{arguments[10]}", rank=rank,
                                         world_size=workers)
    train(pathlib.Path(arguments[2]), arguments[3], *map(int, arguments[4:7]), float(arguments[7]),
          rank, workers)
    torch.distributed.barrier()


if sys.argv[1] == "make":
    make(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
elif sys.argv[1] == "ddp":
    ddp(sys.argv)
else:
    train(pathlib.Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:7]), float(sys.argv[7]))
