import { z } from "zod";
import { type Fragment, sql as fragment, literals } from "#db/sql.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { type VoiceLaws, voiceLaws } from "#tools/voice/law/law.ts";
import { OPEN_CALLS } from "./voice-calls.table.ts";

const count = z.int();

const CallFigures = z.object({
  placed: count.describe(
    "Calls that the vendor was asked for: open + unknown + answered + voicemail + no_answer + busy + failed + barred",
  ),
  open: count.describe("Under way, or the vendor's report is still to come"),
  unknown: count.describe("The vendor has told no end; never placed again"),
  answered: count.describe("By a person, and over"),
  voicemail: count.describe("Answered by a machine"),
  voicemail_left: count.describe("Of voicemail: a message was left"),
  no_answer: count,
  busy: count,
  failed: count,
  barred: count.describe("A rule closed before the person picked up"),
  opted_out: count.describe("Of answered"),
  abandoned: count.describe(
    "Of answered and barred: the person heard nothing from us in time, with any outcome",
  ),
  seconds: count.describe("Of all answered calls"),
  minutes: count.describe("Of all answered calls, each begun minute"),
  unpriced_minutes: count.describe("Of minutes: calls without a cost yet"),
  cost: z.number().nullable().describe("As far as vendors have told; null: nothing is known"),
  cost_currency: z.string().nullable().describe("null where calls have several"),
});

/** The calls of a campaign. Simulated calls are apart from real ones everywhere. */
export const CallStats = z.object({
  ...CallFigures.shape,
  simulated: CallFigures.omit({ unpriced_minutes: true, cost: true, cost_currency: true }).describe(
    "The simulator's: nobody was called",
  ),
  abandoned_share: z
    .object({
      days: z.number(),
      answered: count,
      abandoned: count,
      percent: z.number().nullable(),
      most_percent: z.number(),
    })
    .describe(
      "By the law of calls, of the last days: answered and barred calls, and those in which the person heard nothing from us in time (opt_out_within_seconds)",
    ),
});
export type CallStats = z.output<typeof CallStats>;

interface Counted extends z.output<typeof CallFigures> {
  simulated: boolean;
}

const NONE: Omit<Counted, "simulated"> = {
  placed: 0,
  open: 0,
  unknown: 0,
  answered: 0,
  voicemail: 0,
  voicemail_left: 0,
  no_answer: 0,
  busy: 0,
  failed: 0,
  barred: 0,
  opted_out: 0,
  abandoned: 0,
  seconds: 0,
  minutes: 0,
  unpriced_minutes: 0,
  cost: null,
  cost_currency: null,
};

/**
 * A person picked up, and heard nothing from us in time: an abandoned call of the law (47 CFR 64.1200(a)(7)). It stays
 * one when the person asked for no more calls, and when a rule closed before the pick-up.
 */
export function isAbandoned({ opt_out_within_seconds: within }: VoiceLaws): Fragment {
  return fragment`(${wasPickedUp()} and (c.disclosed_at is null
    or extract(epoch from c.disclosed_at - c.started_at) > ${within}::double precision))`;
}

function wasPickedUp(): Fragment {
  return fragment`(c.status = 'ended' and (c.answered_by = 'human' or c.outcome = 'barred'))`;
}

const BEGUN_MINUTES = fragment`greatest(1, ceil(seconds / 60.0))`;

/** Counts the calls of a campaign, those of its sends `s` that fit the condition. */
export async function countCalls(
  context: Tenant,
  campaignId: string,
  period: ReturnType<Tenant["sql"]>,
): Promise<CallStats> {
  const { sql, property } = context;
  const laws = await voiceLaws(context);
  const rows = await sql<Counted[]>`
    select simulated, count(*)::int as placed,
      count(*) filter (where status in (${literals(OPEN_CALLS)}))::int as open,
      count(*) filter (where status = 'unknown')::int as unknown,
      count(*) filter (where status = 'ended' and answered_by = 'human')::int as answered,
      count(*) filter (where status = 'ended' and answered_by = 'machine')::int as voicemail,
      count(*) filter (where outcome = 'voicemail_left')::int as voicemail_left,
      count(*) filter (where outcome = 'no_answer')::int as no_answer,
      count(*) filter (where outcome = 'busy')::int as busy,
      count(*) filter (where outcome = 'failed')::int as failed,
      count(*) filter (where outcome = 'barred')::int as barred,
      count(*) filter (where outcome = 'opted_out')::int as opted_out,
      count(*) filter (where not simulated and ${isAbandoned(laws)})::int as abandoned,
      coalesce(sum(seconds) filter (where answered_by is not null), 0)::int as seconds,
      coalesce(sum(${BEGUN_MINUTES}) filter (where answered_by is not null), 0)::int as minutes,
      coalesce(sum(${BEGUN_MINUTES}) filter (where answered_by is not null and cost is null), 0)::int as unpriced_minutes, sum(cost) as cost,
      case when count(distinct cost_currency) = 1 then min(cost_currency) end as cost_currency
    from voice_calls c
    where property_id = ${property.id} and campaign_id = ${campaignId} and send_id in (
      select s.id from campaign_sends s
      where s.property_id = ${property.id} and s.campaign_id = ${campaignId} ${period})
    group by simulated`;
  const figures = (isSimulated: boolean) => {
    const { simulated: _, ...found } = rows.find((row) => row.simulated === isSimulated) ?? {
      ...NONE,
      simulated: isSimulated,
    };
    return found;
  };
  const { unpriced_minutes: _, cost: _cost, cost_currency: _currency, ...simulated } = figures(true);
  return { ...figures(false), simulated, abandoned_share: await abandonedShare(context, campaignId) };
}

/** The abandoned calls of a campaign beside its answered ones, over the days of the law. */
export async function abandonedShare(
  context: Tenant,
  campaignId: string,
): Promise<CallStats["abandoned_share"]> {
  const { sql, property } = context;
  const laws = await voiceLaws(context);
  const { abandoned_over_days: days, most_abandoned_percent: most_percent } = laws;
  const [row] = await sql<[{ answered: number; abandoned: number }]>`
    select count(*)::int as answered, count(*) filter (where ${isAbandoned(laws)})::int as abandoned
    from voice_calls c
    where c.property_id = ${property.id} and c.campaign_id = ${campaignId} and not c.simulated and ${wasPickedUp()}
      and c.created_at > now() - make_interval(secs => ${days * 86_400})`;
  const percent = row.answered === 0 ? null : (row.abandoned / row.answered) * 100;
  return { days, ...row, percent, most_percent };
}
