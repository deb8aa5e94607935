import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

/** The reason why a password is refused, as a sentence; null when it is accepted. */
export function checkPassword(password: string): string | null {
  const length = [...password.normalize("NFKC")].length;
  if (length < MIN_CHARACTERS) return `Use at least ${MIN_CHARACTERS} characters.`;
  if (length > MAX_CHARACTERS) return `Use at most ${MAX_CHARACTERS} characters.`;
  return null;
}

/** The password as `$argon2id$v=19$m=…,t=…,p=…$salt$hash`, with a new salt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return write({ ...COST, salt, hash: await derive(password, { ...COST, salt }, HASH_BYTES) });
}

/**
 * Whether the password is right. With null it takes as long and answers false, so that timing hides unknown accounts.
 */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const expected = read(stored ?? NOBODY);
  const given = await derive(password, expected, expected.hash.length);
  return timingSafeEqual(given, expected.hash) && stored !== null;
}

/** Whether the cost has changed since this was stored: the next sign-in then hashes again. */
export function needsRehash(stored: string): boolean {
  const { memory, passes, parallelism } = read(stored);
  return memory !== COST.memory || passes !== COST.passes || parallelism !== COST.parallelism;
}

interface Cost {
  /** KiB. */
  memory: number;
  passes: number;
  parallelism: number;
}

interface Stored extends Cost {
  salt: Buffer;
  hash: Buffer;
}

// OWASP's first choice for argon2id that fits many sign-ins at once: 19 MiB, two passes, one lane.
// https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
const COST: Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const HASH_BYTES = 32;
const MIN_CHARACTERS = 12;
const MAX_CHARACTERS = 256;
const NOBODY = write({ ...COST, salt: Buffer.alloc(16), hash: Buffer.alloc(HASH_BYTES) });

const argon2Async = promisify(argon2);

// NFKC, because keyboards send the same password as different code points.
function derive(password: string, cost: Cost & { salt: Buffer }, tagLength: number): Promise<Buffer> {
  const { memory, passes, parallelism, salt } = cost;
  const message = password.normalize("NFKC");
  return argon2Async("argon2id", { message, nonce: salt, memory, passes, parallelism, tagLength });
}

function write({ memory, passes, parallelism, salt, hash }: Stored): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(hash)}`;
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}

const SHAPE = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

function read(stored: string): Stored {
  const [, memory, passes, parallelism, salt, hash] = SHAPE.exec(stored) ?? [];
  // The message leaves the stored text out, because it would end up in a log.
  if (!salt || !hash) throw new Error("A stored password is not an argon2id string.");
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64"),
    hash: Buffer.from(hash, "base64"),
  };
}
