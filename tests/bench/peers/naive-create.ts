import { createHash, randomUUID } from "node:crypto";
import type postgres from "postgres";
import { COLUMNS } from "./players.ts";

/** The same keyed create as the service's, one awaited statement after another. */
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
    const player = { ...JSON.parse(body), property_id: property };
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
        insert into webhook_deliveries (property_id, event_id, event_type, endpoint_id)
        values (${property}, ${event}, 'player.created', ${id})`;
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
