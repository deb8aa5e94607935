import { hash, randomBytes } from "node:crypto";

/** The token of a reset link: 256 random bits. Only the mail contains it. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** The only form in which a token is stored. */
export function tokenHash(token: string): Buffer {
  return hash("sha256", token, "buffer");
}
