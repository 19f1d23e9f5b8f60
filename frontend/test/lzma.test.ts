/** The unpacking of LZMA, held against what Python's standard library packs. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { unlzma } from "../src/server/lzma";

/** A line for each case: what it is, the digest of the content, the packed file. */
const PACKING = `
import base64, hashlib, itertools, json, lzma, random
drawn = random.Random(7)
text = json.dumps([{"name": f"aten::op{n % 17}", "start": n * n * 7919 % 100003} for n in range(400)]).encode()
contents = {
    "empty": b"", "one byte": b"x", "random": drawn.randbytes(5000), "zeros": bytes(70000), "repeats": b"abc" * 9000,
    "text": text, "far back": text + drawn.randbytes(40000) + text, "bytes": bytes(range(256)) * 40,
    "mixed": b"".join(drawn.choice((text[:drawn.randrange(900)], drawn.randbytes(90))) for _ in range(60)),
}
usual = [("a MB", (text * 60)[:600000] + drawn.randbytes(448576), 4, 0, 0)]
usual += [(f"{name} as a report", content, 4, 0, 0) for name, content in contents.items()]
small = contents["mixed"][:3000] + contents["repeats"][:2000]
other = [("every bit of place and byte", small, lc, lp, pb)
         for lc, lp, pb in itertools.product(range(5), range(5), range(5)) if lc + lp <= 4]
for name, content, lc, lp, pb in usual + other:
    packing = [{"id": lzma.FILTER_LZMA1, "preset": 6, "dict_size": 1 << 24, "lc": lc, "lp": lp, "pb": pb}]
    packed = lzma.compress(content, lzma.FORMAT_ALONE, filters=packing)
    print(f"{name} {lc}{lp}{pb}", hashlib.sha256(content).hexdigest(), base64.b64encode(packed).decode(), sep="|")
`;

const OWN = new URL("../../.venv/bin/python", import.meta.url).pathname;

interface Case {
  name: string;
  digest: string;
  packed: Uint8Array;
}

const CASES: readonly Case[] = execFileSync(existsSync(OWN) ? OWN : "python3", ["-c", PACKING], {
  encoding: "utf8",
  maxBuffer: 1 << 26,
})
  .trim()
  .split("\n")
  .map((line) => {
    const [name, digest, letters] = line.split("|") as [string, string, string];
    return { name, digest, packed: new Uint8Array(Buffer.from(letters, "base64")) };
  });

const digestOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

test("what Python packed comes back byte for byte", () => {
  expect(CASES.length).toBe(85);
  const wrong = CASES.filter(({ digest, packed }) => digestOf(unlzma(packed)) !== digest);
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

const TEXT = CASES.find(({ name }) => name.startsWith("text"))!;

test("a file that ends early says so", () => {
  for (let length = 0; length < TEXT.packed.length; length += 11)
    expect(() => unlzma(TEXT.packed.subarray(0, length))).toThrow(/^The packed data are damaged: /);
});

test("a file with a wrong byte never comes back as what it was, and what is no LZMA says so", () => {
  let refused = 0;
  for (let at = 13; at < TEXT.packed.length; at += 7) {
    const wrong = TEXT.packed.slice();
    wrong[at]! ^= 0x55;
    try {
      expect(digestOf(unlzma(wrong))).not.toBe(TEXT.digest);
    } catch (error) {
      expect(String(error)).toMatch(/The packed data are damaged: /);
      refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(100);
  for (const other of ["<!DOCTYPE html><html>", "PK\u0003\u0004 and more than a head"])
    expect(() => unlzma(new TextEncoder().encode(other))).toThrow(/damaged/);
});
