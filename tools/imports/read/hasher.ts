import { hash } from "node:crypto";
import { comparedForm, pads } from "#tools/people/address.ts";

/** Bytes; emails have at most 254 characters. */
const MOST_ADDRESS = 1_024;

/** As `addressHash`: HMAC-SHA256 in PostgreSQL's output format of a bytea, from the padded keys: a third of `createHmac`'s time. */
export function hasher(pepper: Buffer): (address: string) => string {
  const { inner, outer } = pads(pepper);
  const block = inner.length;
  const first = Buffer.concat([inner, Buffer.alloc(MOST_ADDRESS)]);
  const second = Buffer.concat([outer, Buffer.alloc(32)]);
  return (address) => {
    const length = first.write(comparedForm(address), block, "utf8");
    hash("sha256", first.subarray(0, block + length), "buffer").copy(second, block);
    return `\\x${hash("sha256", second, "hex")}`;
  };
}
