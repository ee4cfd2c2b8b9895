#!/usr/bin/env python3
"""Writes vectors.json and answer.bin: docs/protocol/measurement.md in plain Python, written from that page alone.

usage: python3 vectors.py    in this folder; half a minute. Needs the package cryptography, for one ed25519 signature.
"""
import hashlib
import json
import struct

M32, M64 = 2**32 - 1, 2**64 - 1


def H(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def tag(x):
    return H(b"gantry/measure/1/" + x.encode())


def u32(x):
    return struct.pack("<I", x)


def u64s(h):
    return struct.unpack("<4Q", h)


def hi(a, b):
    return (a * b) >> 64


def profile_bytes(p):
    return struct.pack("<IBIIIII", p["n"], p["fold"], p["rows"], p["chain_ms"], p["resident"], p["walk_ms"], p["lanes"])


def profile_hash(p):
    return H(tag("profile"), profile_bytes(p))


def key(seed, index):
    return struct.unpack("<2I", H(tag("row"), seed, u32(index))[:8])


def expand(k, n):
    k0, k1 = k
    out = bytearray()
    for w in range(n // 4):
        x = (k0 + w * 0x9E3779B9) & M32
        x = ((x ^ x >> 16) * (k1 | 1)) & M32
        x = ((x ^ x >> 15) * 0x846CA68B) & M32
        out += u32(x ^ x >> 16)
    return bytes(out)


def signed(row):
    return [b - 256 if b > 127 else b for b in row]


def kept(c):
    c &= M32
    return (((c ^ c >> 15) * 0x9E3779B1) & M32) >> 24


def mixed(cs):
    h = 0x85EBCA6B
    for c in cs:
        h = ((h ^ (c & M32)) * 0x9E3779B1) & M32
        h ^= h >> 15
    return h >> 24


def product(a, b, n):
    """Rows of A by columns of B. A column's digits stand side by side in one large number, so that a row takes n products."""
    at = [signed(c) for c in b]
    digits = [int.from_bytes(b"".join(u32(at[j][k] + 128) for j in range(n)), "little") for k in range(n)]
    column_sums = [sum(c) for c in at]
    for row in a:
        row = signed(row)
        total = sum((row[k] + 128) * digits[k] for k in range(n))
        raw = struct.unpack("<%dI" % n, total.to_bytes(4 * n, "little"))
        # (a+128)(b+128) = ab + 128a + 128b + 128²
        yield [raw[j] - 128 * sum(row) - 128 * column_sums[j] - 128 * 128 * n for j in range(n)]


def tree(leaves):
    level = list(leaves)
    while len(level) & (len(level) - 1):
        level.append(bytes(32))
    levels = [level]
    while len(level) > 1:
        level = [H(b"\x01", level[i], level[i + 1]) for i in range(0, len(level), 2)]
        levels.append(level)
    return levels


def path(levels, i):
    out = []
    for level in levels[:-1]:
        out.append(level[i ^ 1])
        i >>= 1
    return b"".join(out)


def step(s0, s1, item):
    w = struct.unpack("<16Q", item)
    for t in range(8):
        s0 = ((s0 ^ w[2 * t]) * 0x9E3779B97F4A7C15) & M64
        s0 ^= s0 >> 32
        s1 = ((s1 ^ w[2 * t + 1]) * 0xC2B2AE3D27D4EB4F) & M64
        s1 ^= s1 >> 29
    rotl = ((s0 << 23) | (s0 >> 41)) & M64
    return (s0 + s1) & M64, s1 ^ rotl


def state(s):
    return struct.pack("<2Q", *s)


def main():
    profiles = [
        dict(n=8192, fold=4, rows=2**15, chain_ms=15000, resident=53, walk_ms=1500, lanes=2**15),
        dict(n=8192, fold=4, rows=2**18, chain_ms=15000, resident=33, walk_ms=1500, lanes=2**17),
        dict(n=16384, fold=2, rows=2**18, chain_ms=15000, resident=40, walk_ms=1500, lanes=2**17),
        dict(n=1024, fold=4, rows=2**10, chain_ms=1000, resident=16, walk_ms=500, lanes=2**4),
    ]
    out = {"profiles": [dict(p, bytes=profile_bytes(p).hex(), hash=profile_hash(p).hex()) for p in profiles]}

    domain, instant, node = bytes(range(8)), H(b"instant"), H(b"node")
    for seed, index, n in [(H(b"a"), 0, 1024), (H(b"a"), 1, 1024), (H(b"b"), 8191, 8192), (H(b"c"), 2**20 - 1, 16384)]:
        k = key(seed, index)
        row = expand(k, n)
        out.setdefault("rows", []).append(dict(
            seed=seed.hex(), index=index, k0=k[0], k1=k[1], n=n, first=row[:32].hex(), hash=H(row).hex()))

    values = [0, 1, -1, 127, -128, 2**14, -(2**14), 2**28, -(2**28), 123456789, -98765432, 2**15, 2**16 - 1]
    out["kept"] = [dict(c=c, byte=kept(c)) for c in values]
    out["mixed"] = [dict(c=cs, byte=mixed(cs)) for cs in (
        [0, 0], [1, 0], [0, 1], [-1, -1], [0, 0, 0, 0], [1, 2, 3, 4], [2**28, -(2**28), 5, -6], values[9:13])]

    # One group of cells at the orders of GPUs: what the program recomputes.
    for p, r, row, group in [(profiles[0], 0, 5, 2047), (profiles[1], 7, 2**18 - 1, 1300), (profiles[2], 299, 77777, 8191)]:
        nonce = H(tag("nonce"), domain, instant, node, b"\x03", profile_hash(p))
        before = bytes(32) if r == 0 else H(b"root before")
        seed_b = H(tag("b"), domain, instant, u32(p["n"]))
        seed = H(tag("round"), nonce, u32(r), before)
        a = signed(expand(key(seed, row), p["n"]))
        cs = [sum(x * y for x, y in zip(a, signed(expand(key(seed_b, group * p["fold"] + j), p["n"])))) for j in range(p["fold"])]
        out.setdefault("cells", []).append(dict(
            profile=profile_hash(p).hex(), n=p["n"], fold=p["fold"], gpu=3, nonce=nonce.hex(), seed_b=seed_b.hex(), round=r,
            before=before.hex(), seed=seed.hex(), row=row, group=group, entries=cs, kept=[kept(c) for c in cs], mix=mixed(cs)))

    out["run"] = run(domain, instant, node)
    with open("vectors.json", "w") as f:
        json.dump(out, f, indent=1)
        f.write("\n")


def run(domain, instant, node):
    """A whole run of a small profile, from the nonce to the answer."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    p = dict(n=1024, fold=4, rows=2048, chain_ms=10, resident=2, walk_ms=20, lanes=4)
    n, m, f, gpu, rounds, walks = p["n"], p["rows"], p["fold"], 1, 3, 3
    signer = Ed25519PrivateKey.from_private_bytes(H(b"node key"))
    node = signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    nonce = H(tag("nonce"), domain, instant, node, bytes([gpu]), profile_hash(p))
    seed_b = H(tag("b"), domain, instant, u32(n))
    b = [expand(key(seed_b, j), n) for j in range(n)]

    slots, roots, seeds, trees, leaves = [None] * p["resident"], [], [], [], []
    before = bytes(32)
    for r in range(rounds):
        seed = H(tag("round"), nonce, u32(r), before)
        slot, mixes = bytearray(), bytearray()
        for cs in product([expand(key(seed, i), n) for i in range(m)], b, n):
            slot += bytes(kept(c) for c in cs)
            mixes += bytes(mixed(cs[g:g + f]) for g in range(0, n, f))
        own = [bytes(mixes[i:i + 256]) for i in range(0, len(mixes), 256)]
        levels = tree(H(b"\x00", x) for x in own)
        slots[r % p["resident"]] = bytes(slot)
        seeds.append(seed)
        leaves.append(own)
        trees.append(levels)
        before = levels[-1][0]
        roots.append(before)
    round_tree = tree(H(b"\x02", u32(r), bytes(32) if r == 0 else roots[r - 1], roots[r]) for r in range(rounds))
    rounds_root = round_tree[-1][0]

    seed_w = H(tag("walk"), nonce, rounds_root)
    memory = b"".join(slots)
    items = len(memory) // 128
    lanes = []
    for lane in range(p["lanes"]):
        s = u64s(H(tag("lane"), seed_w, u32(lane)))[:2]
        ends = []
        for j in range(walks):
            start = s
            s = (s[0] ^ ((2**32 * lane + j + 1) * 0xD6E8FEB86659FD93 & M64), s[1])
            for _ in range(64):
                x = hi(s[0], items)
                s = step(*s, memory[128 * x:128 * x + 128])
            ends.append((state(start), state(s)))
        lanes.append(ends)
    lane_trees = [tree(H(b"\x03", a, z) for a, z in ends) for ends in lanes]
    top = tree(t[-1][0] for t in lane_trees)
    walks_root = top[-1][0]

    entry = (bytes([gpu]) + profile_hash(p) + u32(rounds) + roots[-1] + rounds_root + u32(walks) + walks_root
             + u32(11) + u32(22))
    commitment = tag("commitment") + domain + instant + node + b"\x01" + H(tag("gpu"), entry)

    challenge = H(b"challenge")
    draw = H(tag("draw"), challenge, bytes([gpu]), H(commitment))
    d = lambda c: H(draw, u32(c))
    answer, drawn = b"", {"leaves": [], "walks": []}
    for o in range(64):
        u = u64s(d(o))
        r, leaf = hi(u[0], rounds), hi(u[1], len(leaves[0]))
        drawn["leaves"].append([r, leaf])
        answer += leaves[r][leaf] + path(trees[r], leaf)
    for v in range(4):
        u = u64s(d(128 + v))
        lane, j = hi(u[0], p["lanes"]), hi(u[1], walks)
        drawn["walks"].append([lane, j])
        answer += b"".join(lanes[lane][j]) + path(lane_trees[lane], j) + path(top, lane)
        if j > 0:
            answer += b"".join(lanes[lane][j - 1]) + path(lane_trees[lane], j - 1)
    drawn["cells"] = list(d(64))
    with open("answer.bin", "wb") as out:
        out.write(answer)

    return dict(
        p, profile=profile_hash(p).hex(), domain=domain.hex(), instant=instant.hex(), node=node.hex(), gpu=gpu, nonce=nonce.hex(),
        seed_b=seed_b.hex(), rounds=rounds, seeds=[s.hex() for s in seeds], roots=[r.hex() for r in roots],
        slots=[H(s).hex() for s in slots], leaf=dict(round=1, index=2047, bytes=leaves[1][2047].hex(), path=path(trees[1], 2047).hex()),
        rounds_root=rounds_root.hex(), round_paths=[path(round_tree, r).hex() for r in range(rounds)], seed_w=seed_w.hex(),
        walks=walks, lane_walks=[[[a.hex(), z.hex()] for a, z in ends] for ends in lanes],
        lane_roots=[t[-1][0].hex() for t in lane_trees], walks_root=walks_root.hex(), entry=entry.hex(), commitment=commitment.hex(),
        node_secret=H(b"node key").hex(), signature=signer.sign(commitment).hex(), challenge=challenge.hex(), draw=draw.hex(),
        drawn=drawn, answer_hash=H(answer).hex())


if __name__ == "__main__":
    main()
