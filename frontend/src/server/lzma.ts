/**
 * Unpacks an .lzma file, which says the same in two thirds of the bytes of gzip and which no browser unpacks by itself.
 *
 *     byte 0     9 * (5 * pb + lp) + lc       bits of the place and of the byte before that a prediction looks at
 *     1 to 4     size of the dictionary
 *     5 to 12    size of the content, all ones: until its end mark
 *     13 ...     the range coder's bits
 *
 * Every bit is read with the chance that such a bit had lately, in 2048ths.
 *
 * Our own: a small library that is maintained was not found, those of xz are WebAssembly, which a report's policy
 * refuses, and Python's standard library packs neither Brotli nor, before 3.14, zstd.
 */

/** The stream ends early, or is none. */
class DamagedError extends Error {}

function damaged(what: string): never {
  throw new DamagedError(`The packed data are damaged: ${what}`);
}

const HALF = 1024;

const chances = (count: number): Uint16Array => new Uint16Array(count).fill(HALF);

/** A length of a match: 2 to 9, 10 to 17, or 18 to 273. */
const lengthCoder = () => ({ choice: chances(2), low: chances(16 << 3), mid: chances(16 << 3), high: chances(256) });

type LengthCoder = ReturnType<typeof lengthCoder>;

class Bits {
  range = 0xffffffff;
  code = 0;

  constructor(
    readonly bytes: Uint8Array,
    public at: number,
  ) {
    if (bytes.length < at + 5) damaged("they end in their head");
    if (bytes[at] !== 0) damaged("they begin with no LZMA stream");
    for (let first = 0; first < 5; first += 1) this.code = ((this.code << 8) | bytes[this.at++]!) >>> 0;
  }

  bit(chance: Uint16Array, at: number): 0 | 1 {
    const likely = chance[at]!;
    const bound = (this.range >>> 11) * likely;
    const one = this.code >= bound;
    if (one) {
      this.range -= bound;
      this.code -= bound;
      chance[at] = likely - (likely >>> 5);
    } else {
      this.range = bound;
      chance[at] = likely + ((2048 - likely) >>> 5);
    }
    this.refill();
    return one ? 1 : 0;
  }

  /** Bits that are as often 0 as 1. */
  even(count: number): number {
    let value = 0;
    for (let left = count; left > 0; left -= 1) {
      this.range >>>= 1;
      const one = this.code >= this.range;
      if (one) this.code -= this.range;
      value = value * 2 + (one ? 1 : 0);
      this.refill();
    }
    return value;
  }

  /** A number of so many bits, each predicted by those above it. */
  tree(chance: Uint16Array, base: number, count: number): number {
    let node = 1;
    for (let left = count; left > 0; left -= 1) node = (node << 1) | this.bit(chance, base + node);
    return node - (1 << count);
  }

  /** The same, lowest bit first. */
  reversed(chance: Uint16Array, base: number, count: number): number {
    let [node, value] = [1, 0];
    for (let place = 0; place < count; place += 1) {
      const bit = this.bit(chance, base + node);
      node = (node << 1) | bit;
      value |= bit << place;
    }
    return value;
  }

  length({ choice, low, mid, high }: LengthCoder, place: number): number {
    if (!this.bit(choice, 0)) return 2 + this.tree(low, place << 3, 3);
    if (!this.bit(choice, 1)) return 10 + this.tree(mid, place << 3, 3);
    return 18 + this.tree(high, 0, 8);
  }

  private refill(): void {
    if (this.range >= 0x1000000) return;
    if (this.at >= this.bytes.length) damaged("they end early");
    this.range = (this.range << 8) >>> 0;
    this.code = ((this.code << 8) | this.bytes[this.at++]!) >>> 0;
  }
}

/** What is written, in room that doubles when it is full. */
class Written {
  bytes = new Uint8Array(1 << 20);
  length = 0;

  add(byte: number): void {
    if (this.length === this.bytes.length) {
      const wider = new Uint8Array(2 * this.length);
      wider.set(this.bytes);
      this.bytes = wider;
    }
    this.bytes[this.length++] = byte;
  }

  /** The byte so far back, 1 the last one; 0 before the first. */
  back(distance: number): number {
    return distance > this.length ? 0 : this.bytes[this.length - distance]!;
  }

  again(distance: number, count: number): void {
    if (distance > this.length) damaged("they refer to what is before their begin");
    for (let left = count; left > 0; left -= 1) this.add(this.back(distance));
  }
}

/** Throws DamagedError. */
export function unlzma(file: Uint8Array): Uint8Array {
  if (file.length === 0 || file[0]! >= 225) damaged("they begin with no LZMA head");
  const [lc, lp, pb] = [file[0]! % 9, Math.floor(file[0]! / 9) % 5, Math.floor(file[0]! / 45)];
  const bits = new Bits(file, 13);
  const out = new Written();
  const literals = chances(0x300 << (lc + lp));
  const isMatch = chances(12 << 4);
  const isAgain = chances(12);
  const isOlder = [chances(12), chances(12), chances(12)] as const;
  const isShort = chances(12 << 4);
  const slots = chances(4 << 6);
  const near = chances(128);
  const aligned = chances(16);
  const lengths = lengthCoder();
  const lengthsAgain = lengthCoder();
  let state = 0;
  let recent: [number, number, number, number] = [1, 1, 1, 1];

  const literal = () => {
    const place = ((out.length & ((1 << lp) - 1)) << lc) + (out.back(1) >> (8 - lc));
    const base = 0x300 * place;
    let node = 1;
    if (state >= 7) {
      // after a match the byte that it would have gone on with predicts the bits, as long as they agree
      let expected = out.back(recent[0]);
      while (node < 0x100) {
        const guess = (expected >> 7) & 1;
        expected <<= 1;
        const bit = bits.bit(literals, base + ((1 + guess) << 8) + node);
        node = (node << 1) | bit;
        if (bit !== guess) break;
      }
    }
    while (node < 0x100) node = (node << 1) | bits.bit(literals, base + node);
    out.add(node & 0xff);
    state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
  };

  /** How far back a match of this length is; 0: the end mark. */
  const distanceFor = (length: number): number => {
    const slot = bits.tree(slots, Math.min(length - 2, 3) << 6, 6);
    if (slot < 4) return slot + 1;
    const direct = (slot >> 1) - 1;
    const first = (2 | (slot & 1)) * 2 ** direct;
    if (slot < 14) return first + bits.reversed(near, first - slot, direct) + 1;
    const distance = first + bits.even(direct - 4) * 16 + bits.reversed(aligned, 0, 4);
    return distance === 0xffffffff ? 0 : distance + 1;
  };

  for (;;) {
    const place = out.length & ((1 << pb) - 1);
    if (!bits.bit(isMatch, (state << 4) + place)) {
      literal();
    } else if (!bits.bit(isAgain, state)) {
      const length = bits.length(lengths, place);
      const distance = distanceFor(length);
      if (distance === 0) {
        if (bits.code !== 0) damaged("their end does not fit what is before it");
        return out.bytes.subarray(0, out.length);
      }
      recent = [distance, recent[0], recent[1], recent[2]];
      state = state < 7 ? 7 : 10;
      out.again(distance, length);
    } else {
      const [a, b, c, d] = recent;
      if (!bits.bit(isOlder[0], state)) {
        if (!bits.bit(isShort, (state << 4) + place)) {
          state = state < 7 ? 9 : 11;
          out.again(a, 1);
          continue;
        }
      } else if (!bits.bit(isOlder[1], state)) recent = [b, a, c, d];
      else recent = bits.bit(isOlder[2], state) ? [d, a, b, c] : [c, a, b, d];
      const length = bits.length(lengthsAgain, place);
      state = state < 7 ? 8 : 11;
      out.again(recent[0], length);
    }
  }
}
