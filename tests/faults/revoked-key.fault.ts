import postgres from "postgres";
import { hashPassword } from "#runtime/passwords.ts";
import { must, send } from "./calls.ts";
import { type Fault, type Outcome, percentile, problemsOf } from "./fault.ts";
import { openPair, type Pair } from "./place.ts";
import { openWorld, type World } from "./world.ts";

const LATEST = 1_000;
const USER = { email: "admin@example.com", password: "correct horse battery staple" };

const fault: Fault = async (report, { rounds, long }) => {
  const trials = (long ? 100 : 50) * Math.max(1, Math.round(rounds / 10));
  const pair = await openPair();
  const world = await openWorld(pair.url);
  try {
    const token = await signIn(pair, world);
    report("a key revoked in another process", await revoked(pair, world, token, trials));
    const cutting = cutListeners(pair.url);
    const outcome = await revoked(pair, world, token, trials);
    const cuts = await cutting.stop();
    report("the same while no listener stays connected", {
      ...outcome,
      about: `${outcome.about}; ${cuts} connections cut`,
    });
  } finally {
    await world.close();
    await pair.close();
  }
};
export default fault;

/** Uses a key in one process, revokes it in the other, and waits for the refusal. */
async function revoked(pair: Pair, world: World, token: string, trials: number): Promise<Outcome> {
  const delays: number[] = [];
  let resurrected = 0;
  while (delays.length < trials && !delays.some((delay) => delay > LATEST)) {
    const { secret, id } = await world.newKey(1_000_000);
    const use = async () => (await send(pair.second, secret, "GET", "/api/players?limit=1")).status;
    if ((await use()) !== 200) throw new Error("a new key is refused");
    await must(pair.first, "", "POST", "/api/functions/revoke-api-key", {
      body: { keyId: id },
      headers: { Authorization: `Bearer ${token}` },
    });
    const revokedAt = performance.now();
    // A request that starts after this moment is one too many if it succeeds.
    let lastGood = revokedAt;
    for (let startedAt = revokedAt; ; startedAt = performance.now()) {
      if ((await use()) !== 200) break;
      lastGood = startedAt;
      if (lastGood - revokedAt > 5 * LATEST) break;
    }
    delays.push(lastGood - revokedAt);
    if ((await use()) === 200) resurrected++;
  }
  const p99 = percentile(delays, 99);
  const most = Math.max(...delays);
  return {
    about: `${delays.length} trials: last success starts ${percentile(delays, 50).toFixed(0)} ms (p50), ${p99.toFixed(0)} ms (p99), ${most.toFixed(0)} ms (most) after the revocation's answer`,
    ledger: { lost: 0, doubled: 0, foreign: await world.foreign() },
    problems: problemsOf({
      [`accepted ${most.toFixed(0)} ms after the answer`]: most > LATEST,
      [`${resurrected} keys were accepted again after a refusal`]: resurrected > 0,
    }),
  };
}

async function signIn({ first }: Pair, { sql }: World): Promise<string> {
  await sql`
    insert into users (email, password_hash, is_platform_admin)
    values (${USER.email}, ${await hashPassword(USER.password)}, true)`;
  return (await must(first, "", "POST", "/api/auth/login", { body: USER })).body.token;
}

/** Ends every connection that listens, again and again. */
function cutListeners(url: string): { stop(): Promise<number> } {
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
