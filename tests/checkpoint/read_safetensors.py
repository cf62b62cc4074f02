"""Reads a safetensors file strictly and prints what is in it.

Exits with 77 where there is no torch."""
import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(__file__), "..", "support"))
try:
    from safetensors_reader import load
except ImportError:
    sys.exit(77)

metadata, tensors = load(sys.argv[1])
print(json.dumps(metadata, sort_keys=True))
for name in sorted(tensors):
    print(name, str(tensors[name].dtype).split(".")[1], tensors[name].tolist())
