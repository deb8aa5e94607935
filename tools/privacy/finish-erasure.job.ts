import { randomUUID } from "node:crypto";
import { z } from "zod";
import { writeAuditRow } from "#runtime/funnel/audit.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type Job, job } from "#runtime/operation/job.ts";
import { type Erased, eraseTraces } from "./erase.ts";
import type { Person } from "./traces/person.ts";

const AGAIN_SECONDS = 300;

interface Input {
  playerId: string;
  hashes: string[];
}

/** Erases the data that was under way during an erasure, and has arrived since. */
const finishErasure: Job<Input> = job({
  name: "finish_erasure",
  attempts: 20,
  input: z.object({ playerId: z.uuid(), hashes: z.array(z.string()) }),
  handler: ({ transact }, { playerId, hashes }) =>
    transact(async (context) => {
      const { sql, property } = context;
      const person: Person = {
        id: playerId,
        addresses: [],
        hashes,
        ownHashes: [],
        former: [],
        identityHash: null,
        fullName: null,
        externalId: null,
      };
      const pass = randomUUID();
      await recordPass(context, pass, await eraseTraces(context, person, pass));
      const open = await sql`
        select from campaign_sends
        where property_id = ${property.id} and player_id = ${playerId} limit 1`;
      if (open.length > 0) context.enqueue(finishErasure, { playerId, hashes }, { runAt: AGAIN_SECONDS });
    }),
});
export default finishErasure;

/** Records in the audit log which rows of ledgers an erasure has blanked. */
export async function recordPass(context: Context, pass: string, { blanked }: Erased): Promise<void> {
  if (Object.keys(blanked).length === 0) return;
  await writeAuditRow(context, "finish_erasure", { entity: "erasures", entityId: pass, diff: { blanked } });
}
