"""Reads a safetensors file strictly and prints its content."""
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_reader import load  # noqa: E402

metadata, tensors = load(sys.argv[1])
print(json.dumps(metadata, sort_keys=True))
for name in sorted(tensors):
    print(name, str(tensors[name].dtype).split(".")[1], tensors[name].tolist())
