import { createHash, randomUUID } from "node:crypto";
import type postgres from "postgres";
import { addressHash } from "#tools/people/address.ts";
import { identityHash } from "#tools/people/identity.ts";
import { COLUMNS } from "./players.ts";

let pepper: Buffer | undefined;

/** The same keyed create as the service's, with all that it checks and writes, one awaited statement after another. */
export async function naiveCreate(sql: postgres.Sql, property: string, key: string, body: string) {
  return sql.begin(async (tx) => {
    await tx`set local role app_property`;
    await tx`select set_config('app.property_id', ${property}, true)`;
    const known = await tx`
      select status, body from idempotency_records where property_id = ${property} and key = ${key}`;
    if (known[0]) return { row: JSON.parse(known[0].body), status: known[0].status };
    const fingerprint = createHash("sha256").update(body).digest();
    await tx`
      insert into idempotency_records (property_id, key, fingerprint, operation)
      values (${property}, ${key}, ${fingerprint}, 'create_player')`;
    await tx`select pg_advisory_xact_lock_shared(hashtextextended(${`players ${property}`}, 0))`;
    const player = await checked(tx, property, JSON.parse(body));
    const [row] = await tx`insert into players ${tx(player)} returning ${tx.unsafe(COLUMNS)}`;
    const event = randomUUID();
    const endpoints = await tx`
      select id from webhook_endpoints
      where property_id = ${property} and is_active and events && ${["player.created", "player.*", "*"]}`;
    await tx`
      insert into outbox (property_id, id, type, data)
      values (${property}, ${event}, 'player.created', ${{ object: row } as never})`;
    for (const { id } of endpoints) {
      await tx`
        insert into webhook_backlog (property_id, id, endpoint_id, event_ids)
        values (${property}, ${randomUUID()}, ${id}, array[${event}::uuid])`;
      await tx`
        insert into queue (id, name, property_id, input, max_attempts)
        values (${randomUUID()}, 'deliver_webhooks', ${property}, ${{ endpointId: id } as never}, 20)`;
    }
    const audit = { actor_type: "api_key", action: "create_player", entity: "players", entity_id: row!.id };
    const hash = createHash("sha256").update(JSON.stringify(audit)).digest();
    await tx`insert into audit_logs ${tx({ ...audit, property_id: property, record_hash: hash })}`;
    await tx`
      update idempotency_records set status = 201, body = ${JSON.stringify(row)}
      where property_id = ${property} and key = ${key}`;
    return { row, status: 201 as const };
  });
}

/** The player with the hashes of its addresses. Throws when the property's lists say that it must not be stored as it is. */
async function checked(tx: postgres.TransactionSql, property: string, given: Record<string, string>) {
  pepper ??= (await tx<{ pepper: Buffer }[]>`select pepper from properties where id = ${property}`)[0]!
    .pepper;
  const hashes = {
    email_hash: addressHash(pepper, given.email!),
    phone_hash: addressHash(pepper, given.phone!),
  };
  for (const hash of Object.values(hashes)) {
    const listed = await tx`
      select reason from suppressions
      where property_id = ${property} and address_hash = ${hash} and lifted_at is null
        and (reason = 'erased' or reason = 'self_excluded' and (expires_at is null or expires_at > now()))`;
    if (listed.length > 0) throw new Error("the address is on a list");
  }
  const excluded = await tx`
    select from self_exclusions
    where property_id = ${property} and identity_hash = ${identityHash(pepper, given)} and starts_at <= now()
      and (ends_at is null or ends_at > now())`;
  if (excluded.length > 0) throw new Error("the person is excluded");
  return { ...given, ...hashes, property_id: property };
}
