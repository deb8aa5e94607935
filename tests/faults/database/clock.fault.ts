import { setTimeout as pause } from "node:timers/promises";
import type { JWK } from "jose";
import { hashPassword } from "#runtime/identity/passwords.ts";
import { issueToken } from "#runtime/identity/tokens.ts";
import { unseal } from "#runtime/secrets/sealing.ts";
import { must, send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, until } from "../support/fault.ts";
import { APP_SECRET, openPair } from "../support/installation.ts";
import type { ServiceProcess } from "../support/process.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const SHIFT_MINUTES = 10;
const USER = { email: "admin@example.com", password: "correct horse battery staple" };

const fault: Fault = async (report, { rounds }) => {
  for (let round = 0; round < rounds; round++) {
    report("one process's clock is 10 minutes ahead", await shiftedClock(SHIFT_MINUTES));
    report("one process's clock is 10 minutes behind", await shiftedClock(-SHIFT_MINUTES));
  }
};
export default fault;

/** A process with a wrong clock does all the jobs, beside one with the right clock. Both tell time by the database. */
export async function shiftedClock(minutes: number, database?: string): Promise<Outcome> {
  const preload = new URL("../support/shifted-clock.ts", import.meta.url).href;
  const pair = await openPair(
    { ROLE: "web" },
    { NODE_OPTIONS: `--import=${preload}`, CLOCK_SHIFT: String(minutes * 60_000) },
    database,
  );
  const scenario = await openScenario(pair.url);
  try {
    const wrong: Record<string, boolean> = {};
    const time = await clockOf(scenario);
    await scenario.crowd(3);
    const [user] = await scenario.sql<{ id: string }[]>`
      insert into users (email, password_hash, is_platform_admin)
      values (${USER.email}, ${await hashPassword(USER.password)}, true) returning id`;
    for (const [name, service] of Object.entries({ right: pair.first, wrong: pair.second })) {
      const said = { name, service, scenario, time };
      Object.assign(
        wrong,
        await judgesTokens(said, user!.id),
        await judgesKeys(said),
        await judgesLists(said),
        await dates(said),
      );
    }
    Object.assign(
      wrong,
      await importsConsents(pair.second, scenario, time),
      await fires(pair.second, scenario, time),
    );
    return {
      about: `${Object.keys(wrong).length} decisions`,
      ledger: { lost: 0, doubled: 0, foreign: await scenario.foreign() },
      problems: problemsOf(wrong),
    };
  } finally {
    await scenario.close();
    await pair.close();
  }
}

/** ISO times by the database's clock, so many seconds from now. */
type Time = (seconds: number) => string;

async function clockOf({ sql }: Scenario): Promise<Time> {
  const [row] = await sql<
    { now: number }[]
  >`select extract(epoch from clock_timestamp())::float8 * 1000 as now`;
  const offset = row!.now - performance.now();
  return (seconds) => new Date(performance.now() + offset + seconds * 1000).toISOString();
}

interface Asked {
  name: string;
  service: ServiceProcess;
  scenario: Scenario;
  time: Time;
}

async function judgesTokens({ name, service, scenario, time }: Asked, userId: string) {
  const [key] = await scenario.sql<
    { kid: string; private_jwk: string }[]
  >`select kid, private_jwk from signing_keys`;
  const opened = unseal({ appSecret: APP_SECRET }, `signing_keys.private_jwk ${key!.kid}`, key!.private_jwk);
  const signing = { kid: key!.kid, privateJwk: JSON.parse(opened) as JWK };
  const statusOf = async (seconds: number) => {
    const issuedAt = Math.floor(Date.parse(time(-3_600)) / 1000);
    const expiresIn = 3_600 + seconds;
    const about = {
      issuer: service.baseUrl,
      audience: service.baseUrl,
      subject: userId,
      issuedAt,
      expiresIn,
    };
    const headers = { Authorization: `Bearer ${await issueToken(signing, about)}` };
    return (await send(service, "", "POST", "/api/auth/me", { headers })).status;
  };
  return {
    [`${name}: a token that is good for five minutes is refused`]: (await statusOf(300)) !== 200,
    [`${name}: a token that was over a minute ago is accepted`]: (await statusOf(-60)) !== 401,
  };
}

async function judgesKeys({ name, service, scenario, time }: Asked) {
  const login = await must(service, "", "POST", "/api/auth/login", { body: USER });
  const headers = { Authorization: `Bearer ${login.body.token}` };
  const create = (seconds: number) =>
    send(service, "", "POST", "/api/functions/create-api-key", {
      body: { property_id: scenario.id, name: "k", expires_at: time(seconds) },
      headers,
    });
  const good = await create(300);
  const usable = await send(service, good.body.api_key ?? "", "GET", "/api/players?limit=1");
  const { secret, id } = await scenario.newKey(100);
  await scenario.sql`update api_keys set expires_at = ${time(-60)} where id = ${id}`;
  return {
    [`${name}: a key for the next five minutes is not made`]: good.status !== 200,
    [`${name}: a key for the next five minutes is refused`]: usable.status !== 200,
    [`${name}: a key is made that was over a minute ago`]: (await create(-60)).status !== 400,
    [`${name}: a key that was over a minute ago is accepted`]:
      (await send(service, secret, "GET", "/api/players?limit=1")).status !== 401,
  };
}

/** A bar of a player that lasts five more minutes, and one that ended a minute ago. */
async function judgesLists({ name, service, scenario, time }: Asked) {
  const post = (path: string, body: object) => must(service, scenario.key, "POST", path, { body });
  const matched = async (email: string, seconds: number) => {
    await post("/api/players", { email, player_id: `${name}-${email}` });
    const ends_at = time(seconds);
    const { body } = await post("/api/self_exclusions", { email, starts_at: time(-3_600), ends_at });
    return body.matched_players.length as number;
  };
  const barred = async (email: string, seconds: number) => {
    await post("/api/suppressions", { channel: "email", address: email, expires_at: time(seconds) });
    const check = { propertyId: scenario.id, channel: "email", email };
    return (await post("/api/functions/compliance-check", check)).body.reasons.includes("suppressed");
  };
  return {
    [`${name}: an exclusion for five more minutes bars nobody`]:
      (await matched(`x-${name}@example.com`, 300)) !== 1,
    [`${name}: an exclusion that has ended bars`]: (await matched(`y-${name}@example.com`, -60)) !== 0,
    [`${name}: a suppression for five more minutes is over`]: !(await barred(`s-${name}@example.com`, 300)),
  };
}

/** The times that it gives to what happens now. */
async function dates({ name, service, scenario }: Asked) {
  const text = {
    propertyId: scenario.id,
    from: "+17025550199",
    to: "+17025550100",
    text: "STOP",
    messageId: `${name}-stop`,
  };
  const login = await must(service, "", "POST", "/api/auth/login", { body: USER });
  const headers = { Authorization: `Bearer ${login.body.token}` };
  await must(service, "", "POST", "/api/functions/receive-sms", { body: text, headers });
  const [row] = await scenario.sql<{ off: number }[]>`
    select abs(extract(epoch from clock_timestamp() - received_at))::float8 as off from inbound_messages
    where property_id = ${scenario.id} order by id desc limit 1`;
  return { [`${name}: a text that comes now is kept as of another time`]: row!.off > 60 };
}

async function importsConsents(service: ServiceProcess, scenario: Scenario, time: Time) {
  const rows = [
    { player_id: "past", email: "past@example.com", When: time(-300) },
    { player_id: "future", email: "future@example.com", When: time(300) },
  ];
  const consent = { channel: ["email"], consentSource: "desk", occurred_at_column: "When" };
  const body = { type: "player_import", rows, consent };
  const { body: job } = await must(service, scenario.key, "POST", "/api/import_jobs", { body });
  const ended = async () =>
    (await must(service, scenario.key, "GET", `/api/import_jobs/${job.id}`)).body.status === "completed";
  await until("the import's end", 60_000, ended);
  const [row] = await scenario.sql<{ names: string[] }[]>`
    select coalesce(array_agg(player_id), '{}') as names from players
    where property_id = ${scenario.id} and player_id in ('past', 'future')`;
  return {
    "a consent of five minutes ago is not taken in": !row!.names.includes("past"),
    "a consent that is five minutes ahead is taken in": row!.names.includes("future"),
  };
}

async function fires(service: ServiceProcess, scenario: Scenario, time: Time) {
  const post = (path: string, body: object) => send(service, scenario.key, "POST", path, { body });
  const conditions = [{ field: "email", operator: "eq", value: "p1@example.com" }];
  const segment = (await post("/api/segments", { name: "One", conditions })).body.id;
  const schedule = async (seconds: number) => {
    const campaignId = await scenario.campaign();
    const scheduled_at = time(seconds);
    const body = { campaign_id: campaignId, scheduled_at, segment_id: segment };
    const { status } = await post("/api/functions/schedule-campaign", body);
    return { campaignId, status };
  };
  const later = await schedule(300);
  const past = await schedule(-60);
  const soon = await schedule(3);
  const statusOf = async ({ campaignId }: typeof later) =>
    (await scenario.sql<{ status: string }[]>`select status from campaigns where id = ${campaignId}`)[0]!
      .status;
  await until("the campaign that is due", 60_000, async () => (await statusOf(soon)) === "sent");
  const [early] = await scenario.sql<{ ms: number }[]>`
    select extract(epoch from min(m.created_at) - c.scheduled_at)::float8 * 1000 as ms
    from campaigns c join mailbox_messages m on m.property_id = c.property_id and m.channel = 'email'
    where c.id = ${soon.campaignId} group by c.scheduled_at`;
  // The one that is not due would have been fired in the same round.
  await pause(1_000);
  return {
    "a campaign for in five minutes is refused": later.status !== 200,
    "a campaign for a minute ago is scheduled": past.status !== 400,
    "a campaign was sent before its time": early!.ms < 0,
    "a campaign was sent five minutes before its time": (await statusOf(later)) !== "scheduled",
  };
}
