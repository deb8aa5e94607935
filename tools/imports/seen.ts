import { hash } from "node:crypto";

const FIRST_SLOTS = 16_384;

/**
 * The identities that a file has shown so far, 8 bytes each: a million take 16 MB, where a Set of strings would
 * take a hundred. Two different ones are taken for the same once in 40,000,000 files of a million rows.
 */
export function seenIdentities() {
  let slots = new Uint32Array(FIRST_SLOTS * 2);
  let size = 0;

  const put = (high: number, low: number): boolean => {
    const mask = slots.length / 2 - 1;
    let at = low & mask;
    for (;;) {
      const [a, b] = [slots[at * 2]!, slots[at * 2 + 1]!];
      if (a === high && b === low) return false;
      if (a === 0 && b === 0) break;
      at = (at + 1) & mask;
    }
    slots[at * 2] = high;
    slots[at * 2 + 1] = low;
    size++;
    return true;
  };
  const grow = () => {
    const old = slots;
    slots = new Uint32Array(old.length * 2);
    size = 0;
    for (let i = 0; i < old.length; i += 2) if (old[i] !== 0 || old[i + 1] !== 0) put(old[i]!, old[i + 1]!);
  };

  return {
    /** Remembers an identity. False when it was there before. */
    add: (identity: string): boolean => {
      if (size * 4 > slots.length) grow();
      const digest = hash("sha1", identity, "buffer");
      return put(digest.readUInt32LE(0) || 1, digest.readUInt32LE(4));
    },
  };
}

export type Seen = ReturnType<typeof seenIdentities>;
