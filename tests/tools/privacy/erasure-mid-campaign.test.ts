import { randomUUID } from "node:crypto";
import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { auditRow } from "#runtime/funnel/audit.ts";
import { appendRows } from "#runtime/ledgers.ts";
import type { Call } from "#runtime/operation/context.ts";
import { type MailedCampaigns, startMailedCampaigns } from "../../support/mailed-campaigns.ts";
import { lockWaits, openTransaction } from "../../support/postgres/blocking.ts";
import type { TestService } from "../../support/service.ts";

let campaigns: MailedCampaigns;
let service: TestService;
let admin: postgres.Sql;
beforeAll(async () => {
  campaigns = await startMailedCampaigns();
  ({ service, admin } = campaigns);
});
afterAll(() => campaigns?.stop());

const ERASE = "/api/functions/data-deletion";
const erase = (propertyId: string, key: string, playerId: string) =>
  service.post(ERASE, { propertyId, playerId }, { "X-Api-Key": key });

async function finish(): Promise<void> {
  await admin`update queue set run_at = now() where name = 'finish_erasure'`;
  service.internals.wake();
  await service.idle();
}

test("players who are erased in the middle of a campaign get no mail after the answer, and leave no name", async () => {
  const tenant = await campaigns.midSending();
  const asked = new Set<string>();
  const erased = ({ id, email }: { id: string; email: string }) => {
    asked.add(email);
    return campaigns.ask(ERASE, tenant, { propertyId: tenant.id, playerId: id }, email);
  };
  const players = await admin<{ id: string; email: string }[]>`
    select id, email from players where property_id = ${tenant.id} order by id desc limit 2`;
  const answered = await Promise.all(players.map(erased));
  // One after the other: an erasure that waits for another one's lock is no test of a message on its way.
  for (let look = 0; look < 3; look += 1) {
    const one = await campaigns.claimed(tenant, asked);
    if (one) answered.push(await erased(one));
  }
  expect(answered.length).toBeGreaterThan(players.length);
  await campaigns.expectNoneLate(answered);
  await finish();
  const [left] = await admin`
    select count(*)::int as sends from campaign_sends where property_id = ${tenant.id}
      and player_id in (select id from players where property_id = ${tenant.id} and status = 'erased')`;
  expect(left).toEqual({ sends: 0 });
  const [sent] = await admin`
    select count(*) filter (where status = 'sent')::int as sent,
      count(*) filter (where anon_id is not null)::int as anonymous
    from campaign_sends where property_id = ${tenant.id}`;
  expect(sent).toEqual({ sent: campaigns.mails.length, anonymous: answered.length });
});

/** An import that waits for a row which somebody holds, until `close`. */
async function heldImport(rows: string, options: object = {}) {
  const tenant = await service.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  const [held, player] = await Promise.all(
    ["held", "gone"].map(
      async (name) =>
        (await service.post("/api/players", { player_id: name, email: `${name}@imported.example` }, headers))
          .body,
    ),
  );
  const close = await openTransaction(
    admin,
    (sql) => sql`select from players where property_id = ${tenant.id} and id = ${held.id} for update`,
  );
  const csv = `player_id,email,first_name\nheld,held@imported.example,Ana\n${rows}`;
  const job = await service.post("/api/import_jobs", { csv, ...options }, headers);
  await lockWaits(admin, 1);
  return { tenant, headers, player, job, close };
}

test("an erasure waits for an import that stores the address in another record, and names that record", async () => {
  const { tenant, headers, player, close } = await heldImport("twin,gone@imported.example,Zed\n", {
    match_on: ["player_id"],
  });
  const erasing = erase(tenant.id, tenant.key, player.id);
  await Promise.race([erasing, lockWaits(admin, 2)]);
  await close();
  const { body } = await erasing;
  await service.idle();
  const [twin] = (await service.get("/api/players?player_id.eq=twin", headers)).body;
  expect(body.shared_with).toEqual([twin.id]);
});

test("an import that has judged the person already, and not yet written, brings nobody back", async () => {
  const { tenant, headers, player, job, close } = await heldImport("gone,gone@imported.example,Ana\n");
  const erasing = erase(tenant.id, tenant.key, player.id);
  await Promise.race([erasing, lockWaits(admin, 2)]);
  await close();
  expect((await erasing).status).toBe(200);
  await service.idle();
  await finish();
  expect((await service.get(`/api/import_jobs/${job.body.id}`, headers)).body).toMatchObject({
    status: "completed",
  });
  const left = await admin`
    select player_id, first_name from players where property_id = ${tenant.id} and email like 'gone%'`;
  expect([...left]).toEqual([]);
  const [tombstone] = await admin`select email, first_name, status from players where id = ${player.id}`;
  expect(tombstone).toEqual({ email: null, first_name: null, status: "erased" });
  const errors = await admin`
    select original_row from import_errors where property_id = ${tenant.id} and original_row is not null`;
  expect([...errors]).toEqual([]);
});

test("a row that was on its way when the person was erased, and arrives later, is erased too", async () => {
  const tenant = await service.newTenant();
  const headers = { "X-Api-Key": tenant.key };
  const player = (await service.post("/api/players", { email: "late@example.com" }, headers)).body;
  const { body } = await erase(tenant.id, tenant.key, player.id);
  const [send] = await admin`
    insert into campaign_sends (property_id, player_id, channel, status, address_masked, dedupe_key)
    values (${tenant.id}, ${player.id}, 'email', 'sent', 'l***@e***.com', ${Buffer.from(player.id)}) returning id`;
  await admin`
    insert into mailbox_messages (property_id, id, channel, recipient)
    values (${tenant.id}, ${send!.id}, 'email', 'late@example.com')`;
  const [started] = await admin`
    insert into campaign_sends (property_id, player_id, channel, status, dedupe_key)
    values (${tenant.id}, ${player.id}, 'email', 'sending', ${Buffer.from(`${player.id} 2`)}) returning id`;
  const call: Call = { actor: { type: "system", id: null }, transport: "job", requestId: randomUUID() };
  const late = { entity: "players", entityId: player.id, diff: { email: "late@example.com" } };
  const audit = { ...auditRow(call, "update_player", late), property_id: tenant.id };
  await service.internals.db.asProperty(tenant.id, (sql) => appendRows(sql, "audit_logs", [audit]));
  await finish();
  const [kept] = await admin`select player_id, address_masked from campaign_sends where id = ${send!.id}`;
  expect(kept).toEqual({ player_id: null, address_masked: null });
  expect([...(await admin`select from mailbox_messages where property_id = ${tenant.id}`)]).toEqual([]);
  const verified = await service.post("/api/functions/verify-ledger", { propertyId: tenant.id }, headers);
  expect(verified.body).toMatchObject({ intact: true });
  const passes = (await service.get("/api/audit_logs?action.eq=finish_erasure", headers)).body;
  expect(passes).toMatchObject([{ diff: { blanked: { audit_logs: { rows: 1 } } } }]);
  // A message that is on its way still has its player, until the pass after its outcome.
  await admin`update campaign_sends set status = 'sent', sent_at = now() where id = ${started!.id}`;
  await finish();
  const [after] = await admin`select player_id from campaign_sends where id = ${started!.id}`;
  expect(after).toEqual({ player_id: null });
  expect((await erase(tenant.id, tenant.key, player.id)).body).toEqual(body);
});
