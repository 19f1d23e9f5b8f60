/** What a report's answers are packed in, against files that Python's lzma wrote. */

import { describe, expect, test } from "vitest";
import { unlzma } from "../src/server/lzma";
import { inRows, unpacked } from "../src/server/packed";

const WORDS = "the same, the same, the same again, and the like; ".repeat(30);
const NUMBERS = JSON.stringify(Array.from({ length: 120 }, (_, at) => (at * at * 7919) % 100003));

const bytesOf = (letters: string) => Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0));
const textOf = (letters: string) => new TextDecoder().decode(unlzma(bytesOf(letters)));

/** lc=4, lp=0, pb=0, as the server packs. */
const PACKED = {
  nothing: "BAAAAQD//////////wCD//v//8AAAAA=",
  words: "BAAAAQD//////////wA6GtnUc5qEid3qCBWxJcCGeY/9DQTBU/r8vWXkYIFw+Ly0q9vBReWYEbItgoooxf/zHfoA",
  numbers:
    "BAAAAQD//////////wAtjGIJcV5+073mMnmH5XChdQvpPwfFhK3hvPtSj5X3G5o36XLH6B6f+D2h4q2EcZWXmUgmZik8N2g2u58QA7nSFlRO" +
    "xqAySuXWS39Oe61MB1kbmugMjQsMo2fKrHhSrAlAT7DbXJJAunzFyX/+UJ55xQJPHw1Sy98Vn+ac1zFRaKzu+j1XWSd/M62Q+pJ3MsGQuS/9" +
    "qUI+s2jaQV5dG2if0NC1eHpO1n7sW9sMxRTwvnuRS1H839+IvnM6OBoYjqc/BlV+vVFo9HlyDdsUI1P3A1xnJ0Y1PzFtocsrioFgrqmXrZZy" +
    "Io2VVO6MzETsXZt5xrY80FnBySSThtbXIBpaFpRZCMl1A3URh/x4EcLkfKCtdR5bIgoii1vbqEgwGh9iWTAv4Z0EPDnek/+guABkOq7CA9Ka" +
    "xS+87YrUue1xlYeo49CddAi+4cBdQUe27ztQlno8Hyw2AdWNg0D0koRG5BZ/z5gVt3vrOEC3WZukaEVLDvPXZauwjlbimbodQc3UY+XCwB+g" +
    "DFed32zzn7+zLGBh/0QDgAA=",
};

/** lc=0, lp=2, pb=2: predictions look at places, and one text stands far behind its like. */
const BY_PLACES =
  "bAAAAQD//////////wAtjAGDcdakZnzPP0qOFzpas5wCllpKlbueGQUJvmSJJcPthsdLUs0hfDzaIluBPvg2P1YL5q52Ty3y8hkw3yUd+d2h" +
  "KVdX8WVw5qDnwEiPgCg6ElQ/RYvwM/KLHS3y/DonZPqUJhjdyC9cuUH3E6F4juG9T9LqTb1LYIEBd82s0BsJ3PxIHxRrpOWei8R6y6+P83qo" +
  "eCFT/7mkQ5obmssQkOscQqVsuCponboVYsS3NRb1ms7n2RufouL2LlbfL37bqKmnyqYGZw7gWIDyUo6hkN2gHbKd+mzZhn1UqhdtTj9arw7f" +
  "arrbWGmlhQq7wFOgpAyLUGTOK/Y7inDEXl3re9/T41bKHrLb7mjBx+xBEEkwDKnSAsPTye3Vue2i6p9tuMU4waLPb7ZmBf0E6Sanii0nJhgg" +
  "eJYi1FLCJJVq8zsnBHaPkrKfsFQCBjr3jCdF1g0Ts4Y6KdmV3DW74KAUJcatQgrDwCbh/cXaAOXSa1kDfeHvqV5yW9tqXsDrG0ETuAM5lYGp" +
  "cSIVkvU/TiEoJuQEtJ1nyLq9fyn/41JuQXsJNkap+Cs1HL03gXweuS7PhptGpntkPPAsXo62Z+r3DxPctOY+qozpfN/8H+PXk1B+iWwYqfbN" +
  "ng7A54ZzDthIPrKMHxwz0VKmqp/p9Q7geQdyKwIH1Lgpd8gMzxPqGWbKN7NVyiLD9rKRc5MpVEbFklxsAM8cZ3P9DEUU/5v5W6Q=";

describe("LZMA", () => {
  test("what was packed comes back", () => {
    expect(textOf(PACKED.nothing)).toBe("");
    expect(textOf(PACKED.words)).toBe(WORDS);
    expect(textOf(PACKED.numbers)).toBe(NUMBERS);
    expect(textOf(BY_PLACES)).toBe(NUMBERS + WORDS + NUMBERS);
  });

  test("JSON comes back as it was", () => {
    expect(unpacked(`\n${PACKED.numbers}\n`)).toEqual(JSON.parse(NUMBERS));
  });
});

test("columns become rows, at any depth, and an object with a mark as a name stays one", () => {
  const rows = { "#": ["a", "b"], v: [[1, 2, 3], { "#": ["c"], v: [["x", "y", null]] }] };
  expect(
    inRows([
      rows,
      {
        "'": [
          ["#", 1],
          ["v", []],
        ],
      },
      "=",
      null,
    ]),
  ).toEqual([
    [
      { a: 1, b: { c: "x" } },
      { a: 2, b: { c: "y" } },
      { a: 3, b: { c: null } },
    ],
    { "#": 1, v: [] },
    "=",
    null,
  ]);
});
