import { createHmac } from "node:crypto";
import { type Received, webhookReceiver } from "../../support/servers/receivers.ts";
import { must } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    const at = (round + 1) / (rounds + 1);
    report("kill -9 in webhook delivery", await killedDelivery({ events: long ? 1_000 : 300, at }));
  }
};
export default fault;

async function killedDelivery({ events, at }: { events: number; at: number }): Promise<Outcome> {
  const receiver = await webhookReceiver();
  const installation = await openInstallation();
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const { secret } = await scenario.endpoint(receiver.url);
    const rows = playersOf(events);
    await must(service, scenario.key, "POST", "/api/import_jobs", { body: { type: "player_import", rows } });
    await until("the deliveries' progress", 30_000, () => receiver.received.length >= events * at * 0.9);
    await installation.kill();
    const before = receiver.received.length;
    await installation.service();
    const took = await until("the deliveries' end", 120_000, async () => (await open(scenario)) === 0);
    const ids = receiver.received.map(({ headers }) => String(headers["webhook-id"]));
    const stored = await scenario.sql<
      { id: string }[]
    >`select id from outbox where property_id = ${scenario.id}`;
    const distinct = new Set(ids).size;
    const invalid = receiver.received.filter((callback) => !isValid(callback, secret)).length;
    const theirs = receiver.received.filter(({ raw }) => JSON.parse(raw).property_id !== scenario.id).length;
    return {
      about: `cut at ${before} of ${stored.length}, all delivered ${seconds(took)} after the restart, ${repeats(ids)} repeated with the same id`,
      ledger: {
        lost: stored.length - distinct,
        doubled: repeats(
          [...new Set(receiver.received.map(({ headers, raw }) => about(headers, raw)))].map(objectOf),
        ),
        foreign: theirs + (await scenario.foreign()),
      },
      problems: problemsOf({
        "it was over before it was killed": before >= stored.length,
        [`${stored.length} events were stored`]: stored.length !== events + 1,
        [`${invalid} signatures are not valid`]: invalid > 0,
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
    await receiver.stop();
  }
}

/** Rows of an import, each of which makes one event; the import's own end makes one more. */
export function playersOf(count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({
    player_id: `W-${index}`,
    email: `w${index}@example.com`,
  }));
}

/** Deliveries that are still to be made, of an import that has ended. */
export async function open({ sql, id }: Scenario): Promise<number> {
  const [row] = await sql<{ open: number }[]>`
    select (select count(*)::int from webhook_deliveries where property_id = ${id} and status = 'pending')
      + (select count(*)::int from webhook_backlog where property_id = ${id})
      + (select count(*)::int from import_jobs where property_id = ${id} and status in ('queued', 'processing'))
      as open`;
  return row!.open;
}

export function isValid({ headers, raw }: Received, secret: string): boolean {
  const hmac = createHmac("sha256", secret).update(`${headers["x-service-timestamp"]}.${raw}`).digest("hex");
  return headers["x-service-signature"] === `v1=${hmac}` && headers["webhook-id"] === JSON.parse(raw).id;
}

// An event that has two ids was made twice: its object then shows up under each.
const about = (headers: Received["headers"], raw: string) =>
  `${headers["webhook-id"]} ${JSON.parse(raw).data.object.id}`;
const objectOf = (line: string) => line.split(" ")[1] ?? "";
