import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { pads } from "#tools/people/address.ts";
import { must } from "../support/calls.ts";
import { CARRIER_CREDENTIALS, mannerOf, openCarrier } from "../support/carrier.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const PRELOAD = new URL("../support/vendor-host.ts", import.meta.url).href;
const PUBLIC = "https://casino.example";
/** The most calls that one process asks for at once. */
const IN_FLIGHT = 20;
const DONE_WITHIN = 240_000;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    report("kill -9 in a campaign of calls", await killedCalls({ players: long ? 400 : 80 }));
  }
};
export default fault;

/** People stop, hang up and break off in mid-turn, while the service is killed around the hand-over of their calls. */
async function killedCalls({ players }: { players: number }): Promise<Outcome> {
  const carrier = await openCarrier(PUBLIC);
  const port = await freePort();
  const installation = await openInstallation({
    NODE_OPTIONS: `--import=${PRELOAD}`,
    VENDOR_URL: carrier.url,
    BASE_URL: PUBLIC,
    PORT: String(port),
  });
  const here = { baseUrl: `http://127.0.0.1:${port}` };
  await installation.service();
  carrier.service = here.baseUrl;
  const scenario = await openScenario(installation.url());
  try {
    const phones = await callable(scenario, players);
    await must(here, scenario.key, "POST", "/api/message_providers", {
      body: {
        channel: "voice",
        kind: "conversation-relay",
        name: "calls",
        from_address: "+18005550199",
        credentials: CARRIER_CREDENTIALS,
        allows_gaming: true,
      },
    });
    const { body } = await must(here, scenario.key, "POST", "/api/campaigns", {
      body: {
        name: "Calls",
        channel: "voice",
        audience: "all",
        voice_script: {
          callback_number: "+18005550100",
          turns: [{ id: "offer", say: "Free play waits for you.", listen: [{ keys: "1", next: "end" }] }],
        },
      },
    });
    const sending = { campaignId: body.id, propertyId: scenario.id };
    await must(here, scenario.key, "POST", "/api/functions/send-campaign", { body: sending });
    await until("some calls", 60_000, () => carrier.asked.length >= players / 3);
    const cut = carrier.asked.length;
    carrier.service = null;
    await installation.kill();
    await installation.service();
    carrier.service = here.baseUrl;
    let pauses = 0;
    const took = await until("the campaign's end", DONE_WITHIN, async () => {
      const [row] = await scenario.sql`select status, status_reason from campaigns where id = ${body.id}`;
      if (row!.status !== "paused") return row!.status !== "queued" && row!.status !== "sending";
      // People who picked up while nobody was there are abandoned calls, and these pause a campaign.
      if (!/abandoned/.test(row!.status_reason)) return true;
      pauses += 1;
      await must(here, scenario.key, "POST", "/api/functions/resume-campaign", { body: sending });
      return false;
    });
    await carrier.stop();
    const unknown = await scenario.sql<{ asked: boolean }[]>`
      select p.phone = any(${carrier.asked}) as asked from campaign_sends s join players p on p.id = s.player_id
      where s.campaign_id = ${body.id} and s.status = 'unknown'`;
    const revoked = await scenario.sql<{ phone: string }[]>`
      select phone from players where property_id = ${scenario.id} and consents ->> 'voice' = 'false'`;
    const [open] = await scenario.sql<[{ count: number }]>`
      select count(*)::int as count from voice_calls c join campaign_sends s on s.id = c.send_id
      where c.property_id = ${scenario.id} and c.status <> 'ended' and s.status not in ('unknown', 'failed')`;
    const heard = new Set(revoked.map(({ phone }) => phone));
    const called = new Set(carrier.asked);
    const missing = phones.filter((phone) => !called.has(phone)).length;
    const undecided = unknown.filter(({ asked }) => !asked).length;
    const innocent = [...heard].filter((phone) => !["presses_9", "says_stop"].includes(mannerOf(phone)));
    return {
      about: `cut at ${cut} of ${phones.length} calls, done ${seconds(took)} after the restart; ${unknown.length} unknown; ${carrier.stopped.length} stopped; paused ${pauses} times for abandoned calls`,
      ledger: {
        lost: missing - undecided,
        doubled: repeats(carrier.asked),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        "a stop was answered and is not in force": carrier.stopped.some((phone) => !heard.has(phone)),
        "a consent was revoked that nobody took back": innocent.length > 0,
        "nobody stopped": carrier.stopped.length === 0,
        "not every manner was played": carrier.played.size < 4,
        "it was over before it was killed": cut >= phones.length,
        [`${open.count} calls did not end`]: open.count > 0,
        [`${unknown.length} are unknown, and ${IN_FLIGHT} were in flight at most`]:
          unknown.length > IN_FLIGHT,
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
  }
}

/** Players with a number of their own and a written consent. */
async function callable({ sql, id }: Scenario, count: number): Promise<string[]> {
  await sql`select seed_voice_laws(${id})`;
  const [property] = await sql<[{ pepper: Buffer }]>`select pepper from properties where id = ${id}`;
  const { inner, outer } = pads(property.pepper);
  const players = await sql<{ phone: string }[]>`
    insert into players (property_id, player_id, phone, phone_hash, first_name, consents, consent_levels)
    select ${id}, 'C-' || n, phone, address_hash(${inner}, ${outer}, phone), 'Ana', '{"voice": true}',
      '{"voice": "express_written"}'
    from generate_series(1, ${count}::int) n, lateral (select '+1702555' || lpad((1000 + n)::text, 4, '0') as phone) p
    returning phone`;
  return players.map(({ phone }) => phone);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
