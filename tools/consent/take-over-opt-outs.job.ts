import { z } from "zod";
import { job } from "#runtime/operation/job.ts";
import { revoke, revokedWith } from "./revoke.ts";

/**
 * Takes over a vendor's STOPs, for which it has refused messages. All players with an address of these sends are
 * revoked, as by a STOP to us.
 */
export default job({
  name: "take_over_opt_outs",
  attempts: 100,
  input: z.object({ channel: z.enum(["email", "sms"]), sendIds: z.array(z.uuid()) }),
  handler: ({ transact }, { channel, sendIds }) =>
    transact(async (context) => {
      const { sql, property } = context;
      const addresses = await sql<{ hash: Buffer; address: null }[]>`
        select distinct s.address_hash as hash, null as address
        from json_to_recordset(${sendIds.map((id) => ({ id }))}::json) as o(id uuid)
        join campaign_sends s on s.property_id = ${property.id} and s.id = o.id
        where s.address_hash is not null`;
      await revoke(context, {
        many: { addresses: [...addresses], playerIds: [] },
        channels: revokedWith(context, channel),
        method: "stop_keyword",
        source: "provider",
      });
    }),
});
