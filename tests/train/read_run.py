"""Reads the files of a run by the descriptions of their formats, independently of Shoal, and prints their content."""
import glob
import json
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(content):
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        data = content[12:12 + length]
        assert struct.unpack("<I", content[8:12])[0] == masked(content[:8]), "CRC of a length"
        assert struct.unpack("<I", content[12 + length:16 + length])[0] == masked(data), "CRC"
        yield data
        content = content[16 + length:]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(field number, value) pairs of a protocol buffer; nested messages as bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[kind]
            value, at = struct.unpack(form, data[at:at + size])[0], at + size
        yield tag >> 3, value


folder = sys.argv[1]
for path in glob.glob(folder + "/events.out.tfevents.*"):
    with open(path, "rb") as file:
        for event in map(dict, map(fields, records(file.read()))):
            scalars = [dict(fields(value)) for _, value in fields(event.get(5, b""))]
            print(event[1], event.get(2), event.get(3), [(s[1].decode(), s[2]) for s in scalars])
with open(folder + "/metrics.jsonl") as file:
    print([(line["step"], line["loss"]) for line in map(json.loads, file)])
with open(folder + "/summary.json") as file:
    print(json.load(file)["test_accuracy"])
with open(folder + "/trace.json") as file:
    print([event["ph"] for event in json.load(file)["traceEvents"]])
