import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import { newScenario, type Scenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

// A deletion looks for the work that uses the record. Work that begins beside it is not to be seen yet.

let service: TestService;
let admin: postgres.Sql;
let scenario: Scenario;
beforeAll(async () => {
  service = await startService({ role: "web" });
  admin = postgres(service.database.url, { max: 2, onnotice: () => {} });
});
afterAll(async () => {
  await admin?.end();
  await service?.stop();
});
beforeEach(async () => {
  scenario = await newScenario(service, { from_email: "offers@casino.example" });
  await scenario.crowd(2);
});

const call = (operation: string, input: object) => scenario.call(operation, input);
const provider = async (): Promise<string> => {
  const smtp = { host: "smtp.example.com", port: 587 };
  const fields = { name: "Ours", channel: "email", kind: "smtp", credentials: smtp, allows_gaming: true };
  return (await call("create_message_provider", fields)).id;
};
const segment = async (name = "Ours"): Promise<string> => {
  const conditions = [{ field: "player_id", operator: "is_set" }];
  return (await call("create_segment", { name, type: "dynamic", conditions })).id;
};
const send = (campaignId: string) => call("send_campaign", { campaignId, propertyId: scenario.id });
const soon = () => new Date(Date.now() + 3_600_000).toISOString();

interface Case {
  gone: [string, object];
  begin: () => Promise<unknown>;
  says: string;
  /** The work does not name the record: behind the deletion the operator's own provider carries its messages. */
  goesOn?: true;
}
type Made = Promise<Case>;

const CASES: [string, () => Made][] = [
  [
    "the last provider of a channel beside a campaign that is sent",
    async () => {
      const id = await provider();
      const campaign = await scenario.campaign();
      return {
        gone: ["delete_message_provider", { id }],
        begin: () => send(campaign),
        says: "has no other email provider",
        goesOn: true,
      };
    },
  ],
  [
    "the provider of a campaign that is sent",
    async () => {
      const id = await provider();
      const campaign = await scenario.campaign({ provider_id: id });
      return {
        gone: ["delete_message_provider", { id }],
        begin: () => send(campaign),
        says: "uses this provider",
      };
    },
  ],
  [
    "the last provider of a channel beside a journey that is published",
    async () => {
      const id = await provider();
      const { id: journeyId } = await call("create_journey", {
        name: "J",
        draft_definition: {
          nodes: [
            { id: "in", type: "trigger", config: { on: "api" } },
            {
              id: "hello",
              type: "message",
              config: {
                channel: "email",
                from_email: "offers@casino.example",
                subject: "Hi",
                body_html: "<p>Hi</p>",
              },
            },
            { id: "end", type: "exit", config: {} },
          ],
          edges: [
            { from: "in", to: "hello" },
            { from: "hello", to: "end" },
          ],
        },
      });
      return {
        gone: ["delete_message_provider", { id }],
        begin: () => call("publish_journey", { journeyId, propertyId: scenario.id }),
        says: "has no other email provider",
        goesOn: true,
      };
    },
  ],
  [
    "the segment of a campaign that is sent",
    async () => {
      const id = await segment();
      const campaign = await scenario.campaign({ audience: null, segment_id: id });
      return { gone: ["delete_segment", { id }], begin: () => send(campaign), says: "uses this segment" };
    },
  ],
  [
    "a segment that a scheduled campaign leaves out",
    async () => {
      const id = await segment();
      const campaign_id = await scenario.campaign({ exclude_segment_ids: [id] });
      return {
        gone: ["delete_segment", { id }],
        begin: () => call("schedule_campaign", { campaign_id, scheduled_at: soon(), segment_id: null }),
        says: "uses this segment",
      };
    },
  ],
  [
    "a segment that a new segment names",
    async () => {
      const id = await segment();
      const conditions = [{ field: `segment.${id}`, operator: "in_segment" }];
      return {
        gone: ["delete_segment", { id }],
        begin: () => call("create_segment", { name: "Other", type: "dynamic", conditions }),
        says: "uses this segment",
      };
    },
  ],
  [
    "a segment that a scheduled campaign gets",
    async () => {
      const id = await segment();
      const campaign_id = await scenario.campaign();
      await call("schedule_campaign", { campaign_id, scheduled_at: soon(), segment_id: null });
      return {
        gone: ["delete_segment", { id }],
        begin: () => call("update_campaign", { id: campaign_id, exclude_segment_ids: [id] }),
        says: "uses this segment",
      };
    },
  ],
  [
    "a custom field that a new segment reads",
    async () => {
      const { id } = await call("create_custom_field", { key: "club", type: "text" });
      const conditions = [{ field: "custom.club", operator: "eq", value: "x" }];
      return {
        gone: ["delete_custom_field", { id }],
        begin: () => call("create_segment", { name: "Club", type: "dynamic", conditions }),
        says: "uses this custom field",
      };
    },
  ],
];

test.each(CASES)("%s stays", async (_what, made) => {
  const { gone, begin, says } = await made();
  // The work waits with its last statements: it has looked its records up, and nobody sees it yet.
  const release = await openTransaction(admin, (sql) => sql`lock table audit_logs in share mode`);
  const beginning = begin();
  await lockWaits(admin, 1);
  const deleting = expect(call(...gone)).rejects.toThrow(says);
  await lockWaits(admin, 2);
  await release();
  await beginning;
  await deleting;
});

const REFUSALS = /^(provider_id: provider |(segment_id: )?segment |conditions\[0\]\.field: "custom\.club" )/;

test.each(CASES)("%s is looked up behind its deletion", async (_what, made) => {
  const { gone, begin, goesOn = false } = await made();
  const release = await openTransaction(admin, (sql) => sql`lock table audit_logs in share mode`);
  const deleting = call(...gone);
  await lockWaits(admin, 1);
  const looked = begin().then(
    () => "done",
    (error: Error) => error.message,
  );
  await lockWaits(admin, 2);
  await release();
  await deleting;
  expect(await looked).toMatch(goesOn ? /^done$/ : REFUSALS);
});

test("a scheduled campaign waits with the row of its new segment, so that no circle comes of a deletion", async () => {
  const id = await segment();
  const campaign_id = await scenario.campaign();
  await call("schedule_campaign", { campaign_id, scheduled_at: soon(), segment_id: null });
  const release = await openTransaction(
    admin,
    (sql) => sql`select pg_advisory_xact_lock(hashtextextended(${`uses ${scenario.id}`}, 0))`,
  );
  const changing = call("update_campaign", { id: campaign_id, segment_id: id, audience: null });
  await lockWaits(admin, 1);
  const deleting = expect(call("delete_segment", { id })).rejects.toThrow("uses this segment");
  await lockWaits(admin, 2);
  // The deletion does not have the row, whose key the campaign takes when it is written.
  const [waiting] = await admin`
    select count(*)::int as for_uses from pg_locks
    where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`;
  expect(waiting).toEqual({ for_uses: 1 });
  await release();
  await changing;
  await deleting;
});
