import type { Context } from "#runtime/operation/context.ts";
import { job } from "#runtime/operation/job.ts";
import { DEVICE_DAYS } from "./devices.ts";
import { FORGET_DEVICES } from "./forgetting.ts";

const DAY_MS = 86_400_000;

/** Forgets browsers that have opened no page for long. Looks again tomorrow, while any is known. */
export default job({
  ...FORGET_DEVICES,
  handler: ({ transact }) => transact(forget),
});

async function forget({ sql, property, enqueue, now }: Context): Promise<void> {
  await sql`
    delete from player_devices
    where property_id = ${property.id} and updated_at <= now() - make_interval(days => ${DEVICE_DAYS})`;
  const left = await sql`select from player_devices where property_id = ${property.id} limit 1`;
  if (left.length === 0) return;
  enqueue(FORGET_DEVICES, {}, { dedupe: property.id, runAt: new Date(now() + DAY_MS).toISOString() });
}
