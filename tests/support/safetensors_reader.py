"""A strict reader of safetensors files, by the format's description alone."""
import json
import struct

import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
          "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8,
          "U8": torch.uint8, "BOOL": torch.bool}


def no_duplicates(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), "a key is there twice"
    return dict(pairs)


def load(path):
    with open(path, "rb") as file:
        content = file.read()
    (length,) = struct.unpack("<Q", content[:8])
    assert length <= 100_000_000 and length % 8 == 0 and content[8:9] == b"{"
    header = json.loads(content[8:8 + length].decode("utf-8"), object_pairs_hook=no_duplicates)
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    data, at, tensors = bytearray(content[8 + length:]), 0, {}
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        assert set(entry) == {"dtype", "shape", "data_offsets"}, name
        begin, end = entry["data_offsets"]
        dtype = DTYPES[entry["dtype"]]
        size = torch.tensor([], dtype=dtype).element_size()
        assert begin == at and begin % size == 0, f"{name} begins at {begin} instead of {at}"
        count = torch.Size(entry["shape"]).numel()
        assert end - begin == count * size, name
        tensors[name] = (torch.frombuffer(data, dtype=dtype, count=count, offset=begin)
                         if count else torch.empty(0, dtype=dtype)).reshape(entry["shape"])
        at = end
    assert at == len(data), f"{len(data) - at} bytes after the last tensor"
    return metadata, tensors
