import { hash } from "node:crypto";
import postgres from "postgres";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { must, send } from "./calls.ts";
import type { Pair } from "./installation.ts";
import type { ServiceProcess } from "./process.ts";
import type { Scenario } from "./scenario.ts";

/** Milliseconds after which no process accepts a revoked key any more, with or without a notice of it. */
export const LATEST = 1_000;
const USER = { email: "admin@example.com", password: "correct horse battery staple" };

/** A session of one who may revoke keys. */
export async function signIn({ first }: Pick<Pair, "first">, { sql }: Scenario): Promise<string> {
  await sql`
    insert into users (email, password_hash, is_platform_admin)
    values (${USER.email}, ${await hashPassword(USER.password)}, true)`;
  return (await must(first, "", "POST", "/api/auth/login", { body: USER })).body.token;
}

export async function revoke(service: ServiceProcess, token: string, keyId: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  await must(service, "", "POST", "/api/functions/revoke-api-key", { body: { keyId }, headers });
}

/** The process behind a proxy: each key's requests come from an address of its own, as those of different people. */
export const BEHIND_PROXY = { TRUST_PROXY: "1" };

/** Whether a key is accepted. Refused keys use up what their address may ask in a minute. */
export async function usesKey(service: ServiceProcess, secret: string): Promise<boolean> {
  const headers = {
    "X-Forwarded-For": `10.${[...hash("sha256", secret, "buffer").subarray(0, 3)].join(".")}`,
  };
  const { status, body } = await send(service, secret, "GET", "/api/players?limit=1", { headers });
  if (status !== 200 && status !== 401)
    throw new Error(`neither accepted nor refused: ${status} ${JSON.stringify(body)}`);
  return status === 200;
}

export interface Revocations {
  /** Milliseconds from each revocation's answer in one process to the start of the last success in the other. */
  delays: number[];
  /** Keys that were accepted again after a refusal. */
  resurrected: number;
}

/** Uses a key in one process, revokes it in the other, and waits for the refusal. Ends at the first that comes too late. */
export async function revocations(
  { first, second }: Pair,
  scenario: Scenario,
  token: string,
  trials: number,
): Promise<Revocations> {
  const delays: number[] = [];
  let resurrected = 0;
  while (delays.length < trials && !delays.some((delay) => delay > LATEST)) {
    const { secret, id } = await scenario.newKey(1_000_000);
    if (!(await usesKey(second, secret))) throw new Error("a new key is refused");
    await revoke(first, token, id);
    const revokedAt = performance.now();
    // A request that starts after this moment is one too many if it succeeds.
    let lastGood = revokedAt;
    for (let startedAt = revokedAt; await usesKey(second, secret); startedAt = performance.now()) {
      lastGood = startedAt;
      if (lastGood - revokedAt > 5 * LATEST) break;
    }
    delays.push(lastGood - revokedAt);
    if (await usesKey(second, secret)) resurrected++;
  }
  return { delays, resurrected };
}

/** Ends every connection that listens, again and again. */
export function cutListeners(url: string): { stop(): Promise<number> } {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  let stopped = false;
  let cuts = 0;
  const cutting = (async () => {
    while (!stopped) {
      const cut = await sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and query ilike 'listen %'`;
      cuts += cut.length;
    }
  })();
  return {
    stop: async () => {
      stopped = true;
      await cutting;
      await sql.end();
      return cuts;
    },
  };
}
