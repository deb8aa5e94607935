import { z } from "zod";
import { assignments } from "#db/sql.ts";
import type { Messages, SendOutcome } from "#runtime/channels/provider/channel.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { type JobContext, job } from "#runtime/operation/job.ts";
import { STARTED_WITHIN_MS } from "#tools/compliance/sends-under-way.ts";
import { storeMessages } from "#tools/mailbox/store-messages.ts";
import { unsubscribeLinks } from "#tools/player-links/links.ts";
import { chooseProviders } from "#tools/providers/choose.ts";
import { reserve } from "#tools/providers/limits.ts";
import type { VendorChannel } from "#tools/providers/provider.ts";
import { openRoutes, type Routes, verdictOn } from "#tools/providers/routes.ts";
import { noteDevices } from "#tools/push-subscriptions/subscription.ts";
import { openCalls } from "#tools/voice-calls/call.ts";
import { contentHash } from "./approval/approve.ts";
import { findCampaign } from "./campaign/campaign.ts";
import { renderMessages } from "./content/render-messages.ts";
import { recordOutcomes, untilRecorded } from "./delivery/record-outcomes.ts";
import { reasonsAgainst, recipientOf, testContent, testedVariant, valuesFor } from "./delivery/test-send.ts";
import { lockPause, pauseWords } from "./pause/property-pause.ts";
import { notReady } from "./preflight/readiness.ts";

type Input = z.output<typeof Input>;
const Input = z.object({
  sendId: z.uuid(),
  /** Absent for a player's browsers. */
  to: z.string().optional(),
  playerId: z.uuid().nullable(),
  content: z.string(),
});

/** Hands one test to the provider, at most once. The transaction that claims it asks the gate again. */
export default job({
  name: "send_test",
  attempts: 5,
  sends: true,
  input: Input,
  async handler(job, input) {
    const claimed = await job.transact((context) => claim(context, job, input));
    if (!claimed) return;
    const { routes, message, startBy } = claimed;
    const route = routes.current();
    const [answered] = await route.sender.send([message], { signal: job.signal, startBy });
    await untilRecorded(job, async (context) => {
      await noteDevices(context, [answered!]);
      await recordOutcomes(context, job.jobId, { outcomes: [final(answered!)], messages: [message] });
    });
    routes.note(route, verdictOn([answered!]), [answered!]);
    await routes.noted();
  },
});

interface ClaimedTest {
  routes: Routes<VendorChannel>;
  message: Messages[VendorChannel];
  startBy: number;
}

/** Null when the test is not sent: its row then gives the reason. */
async function claim(
  context: Context,
  job: JobContext,
  { sendId, to, playerId, content: asked }: Input,
): Promise<ClaimedTest | null> {
  const { sql, property } = context;
  const [row] = await sql<{ status: string; test_of: string; variant_id: string | null }[]>`
    select status, test_of, variant_id from campaign_sends
    where property_id = ${property.id} and id = ${sendId} for no key update`;
  // An attempt broke off: the vendor may have it.
  if (row?.status === "sending")
    return end(context, sendId, { status: "unknown", error_code: "interrupted" });
  if (row?.status !== "pending") return null;
  const campaign = await findCampaign(context, row.test_of);
  const pause = await lockPause(context, "shared");
  if (pause) {
    return end(context, sendId, { status: "failed", error_code: "paused", error_message: pauseWords(pause) });
  }
  if ((await contentHash(context, campaign)) !== asked) {
    const error_message = "The content has changed since the test was asked for.";
    return end(context, sendId, { status: "failed", error_code: "content_changed", error_message });
  }
  const { channel, content, problems } = await testContent(context, campaign);
  if (!content) throw notReady(problems);
  const recipient = await recipientOf(context, channel, { to, playerId });
  const { reasons } = await reasonsAgainst(context, channel, recipient);
  if (reasons.length > 0) return end(context, sendId, { status: "skipped", skip_reasons: reasons });
  const candidates = await chooseProviders(context, channel, campaign.provider_id);
  const routes = openRoutes<VendorChannel>(job, channel, candidates.slice(0, 1), (messages) =>
    job.transact((inside) => storeMessages(inside, messages)),
  );
  const { candidate } = routes.current();
  const { granted } = await reserve(context, candidate, 1);
  if (granted === 0) return end(context, sendId, { status: "failed", error_code: "provider_limit" });
  const linkOf = (id: string) => unsubscribeLinks(context.config)(property.id, id);
  const values = await valuesFor(context, channel, sendId, recipient);
  const variant_id = testedVariant(content, row.variant_id);
  const testRecipient = { ...values, ...(variant_id !== null && { variant_id }) };
  const { messages, unrendered } = await renderMessages(
    content,
    [testRecipient],
    linkOf,
    Number.POSITIVE_INFINITY,
  );
  const [failure] = unrendered.flatMap((one) => (one.status === "sent" ? [] : [one]));
  if (failure) {
    return end(context, sendId, {
      status: "failed",
      error_code: failure.code,
      error_message: failure.message,
    });
  }
  const { id, name } = candidate;
  const startBy = performance.now() + STARTED_WITHIN_MS;
  await sql`
    update campaign_sends set status = 'sending', claimed_by = ${job.jobId}, claimed_at = statement_timestamp(),
      provider = ${name}, provider_id = ${id}, updated_at = statement_timestamp()
    where property_id = ${property.id} and id = ${sendId}`;
  const message = marked(content.sentBy(candidate, messages[0]!));
  if ("script" in message && name !== "simulator") await openCalls(context, candidate, [message]);
  return { routes, message, startBy };
}

async function end({ sql, property }: Tenant, sendId: string, values: object): Promise<null> {
  await sql`
    update campaign_sends set ${assignments({ ...values, updated_at: "now" })}
    where property_id = ${property.id} and id = ${sendId}`;
  return null;
}

function marked(message: Messages[VendorChannel]): Messages[VendorChannel] {
  return "subject" in message ? { ...message, subject: `[Test] ${message.subject}` } : message;
}

/** A test is tried once, so its sender learns the provider's answer at once. */
function final(outcome: SendOutcome): SendOutcome {
  return outcome.status === "retry" ? { ...outcome, status: "failed" } : outcome;
}
