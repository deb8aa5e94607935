import type { Context } from "#runtime/context.ts";
import { move } from "./move.ts";
import type { Recorded } from "./record.ts";

/** How many of a batch have failed since the last that was sent, which ends what was counted before. */
export async function failedInRow(
  { sql, property }: Context,
  campaignId: string,
  recorded: readonly Recorded[],
): Promise<number> {
  const known = recorded.filter(({ outcome, status }) => outcome === "sent" || status === "failed");
  const last = known.findLastIndex(({ outcome }) => outcome === "sent");
  if (last >= 0) {
    await sql`
      update campaigns set errors_in_row = 0
      where property_id = ${property.id} and id = ${campaignId} and errors_in_row > 0`;
  }
  return known.length - 1 - last;
}

/** Counts so many errors more, over all jobs, and pauses the campaign when too many in a row have failed. */
export async function countErrors(context: Context, campaignId: string, failed: number): Promise<void> {
  const { sql, property } = context;
  const [counted] = await sql<{ errors: number; most: number }[]>`
    update campaigns set errors_in_row = errors_in_row + ${failed}::int
    where property_id = ${property.id} and id = ${campaignId} and status = 'sending' and deleted_at is null
    returning errors_in_row as errors, max_send_errors as most`;
  if (!counted || counted.errors <= counted.most) return;
  await sql`
    update campaigns set errors_in_row = 0 where property_id = ${property.id} and id = ${campaignId}`;
  const reason = `${counted.errors} messages in a row have failed; see error_code of its campaign_sends. Repair the cause, then resume it.`;
  await move(context, campaignId, "pause", { status_reason: reason });
  context.log.error({ campaignId, errors: counted.errors }, "campaign paused: too many errors in a row");
}
