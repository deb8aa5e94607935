import { z } from "zod";
import { callbacksOf } from "#runtime/channels/index.ts";
import type { Context } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { receiveInbound } from "#tools/sms/inbound.ts";
import { applyNotices } from "./apply-notices.ts";
import { takeCallNews } from "./call-news.ts";
import type { ProviderRecord } from "./columns.ts";
import { isUrgent, putInForce, QueuedNotice } from "./notice.ts";
import { openCredentials } from "./provider.ts";

type NoticeProvider = Pick<ProviderRecord, "id" | "channel" | "kind" | "credentials">;

/** Applies a provider's notices. A repeated notice changes nothing more. */
export default job({
  name: "receive_notices",
  attempts: 20,
  input: z.object({ providerId: z.uuid(), notices: z.array(QueuedNotice) }),
  async handler(job, { providerId, notices }) {
    const provider = await job.transact((context) => providerOf(context, providerId));
    if (!provider) return;
    for (const notice of notices) {
      if (notice.kind === "subscription") await confirm(job, provider, notice.url);
    }
    await job.transact((context) => applyNotices(context, provider, notices));
    // Each text has its own transaction, so that no text waits for another.
    const source = { provider: provider.kind, providerId };
    for (const notice of notices.filter(isUrgent)) {
      await job.transact(async (context) => {
        if (notice.kind === "inbound") await receiveInbound(context, notice, source);
        if (notice.kind === "call") await takeCallNews(context, provider, notice);
        await putInForce(context, providerId, [notice]);
      });
    }
  },
});

/** Finds deleted providers too: their last notices still count. */
async function providerOf({ sql, property }: Context, id: string): Promise<NoticeProvider | undefined> {
  const [provider] = await sql<NoticeProvider[]>`
    select id, channel, kind, credentials from message_providers where property_id = ${property.id} and id = ${id}`;
  return provider;
}

async function confirm(
  { config, propertyId }: JobContext,
  provider: NoticeProvider,
  url: string,
): Promise<void> {
  const settings = openCredentials(config, propertyId!, provider);
  await callbacksOf(provider.channel, provider.kind, settings)?.confirm(url);
}
