import { createHash, createHmac, createSecretKey, randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { AppSecret } from "#runtime/config.ts";
import { locationOf, seal, unseal } from "#runtime/secrets/sealing.ts";

const SEED_BYTES = 32;

/** A play of one game. `n` counts the player's plays of it from 1. */
export interface PlayNumber {
  gameId: string;
  playerId: string;
  n: number;
}

const located = (propertyId: string, gameId: string) =>
  locationOf("game_seeds", "master", propertyId, gameId);

/** A new master seed, and the same as it is stored. */
export function newMaster(config: AppSecret, propertyId: string, gameId: string) {
  const master = randomBytes(SEED_BYTES);
  return { master, sealed: seal(config, located(propertyId, gameId), master.toString("hex")) };
}

/** Opened master seeds by their sealed texts: the plays of a game open the same one. */
const opened = new LRUCache<string, Buffer>({ max: 200 });

/** The master seed again. */
export function openMaster(config: AppSecret, propertyId: string, gameId: string, sealed: string): Buffer {
  const place = located(propertyId, gameId);
  const key = `${place} ${sealed}`;
  let master = opened.get(key);
  if (!master) {
    master = Buffer.from(unseal(config, place, sealed), "hex");
    opened.set(key, master);
  }
  return master;
}

/** The seed of one play: HMAC-SHA256(master, `game:player:n`). Nobody chooses it, and only the master reveals it. */
export function playSeed(master: Uint8Array, { gameId, playerId, n }: PlayNumber): Buffer {
  // Of bytes themselves an HMAC takes three times as long.
  return createHmac("sha256", createSecretKey(master)).update(`${gameId}:${playerId}:${n}`).digest();
}

/** The commitment to a seed: its SHA-256 in hex. */
export function commitmentOf(seed: Uint8Array): string {
  return createHash("sha256").update(seed).digest("hex");
}
