import { z } from "zod";
import { callbacksOf } from "#runtime/channels/index.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { receiveInbound } from "#tools/sms/inbound.ts";
import { applyNotices } from "./apply-notices.ts";
import type { ProviderRecord } from "./columns.ts";
import { QueuedNotice } from "./notice.ts";
import { openCredentials } from "./provider.ts";

type Teller = Pick<ProviderRecord, "id" | "channel" | "kind" | "credentials">;

/** Applies a provider's notices. A repeated notice changes nothing more. */
export default job({
  name: "receive_notices",
  attempts: 20,
  input: z.object({ providerId: z.uuid(), notices: z.array(QueuedNotice) }),
  async handler(job, { providerId, notices }) {
    const teller = await job.transact((context) => tellerOf(context, providerId));
    if (!teller) return;
    for (const notice of notices) {
      if (notice.kind === "subscription") await confirm(job, teller, notice.url);
    }
    await job.transact((context) => applyNotices(context, teller, notices));
    // Each text has its own transaction, so that no text waits for another.
    const source = { provider: teller.kind, providerId };
    for (const notice of notices) {
      if (notice.kind === "inbound") await job.transact((context) => receiveInbound(context, notice, source));
    }
  },
});

/** Finds deleted providers too: their last notices still count. */
async function tellerOf({ sql, property }: Context, id: string): Promise<Teller | undefined> {
  const [teller] = await sql<Teller[]>`
    select id, channel, kind, credentials from message_providers where property_id = ${property.id} and id = ${id}`;
  return teller;
}

async function confirm({ config, propertyId }: JobContext, teller: Teller, url: string): Promise<void> {
  const settings = openCredentials(config, propertyId!, teller);
  await callbacksOf(teller.channel, teller.kind, settings)?.confirm(url);
}
