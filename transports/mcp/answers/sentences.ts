import { counted } from "#runtime/counted.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { journeyPart } from "./journeys.ts";
import { reasons } from "./reasons.ts";

type Structured = Record<string, unknown>;

const MOST_FACTS = 12;
/** Operations whose work a job does after the answer, and whose answer has no status. */
const QUEUED = new Set([
  "test_webhook",
  "redeliver_webhook",
  "replay_webhooks",
  "send_test_message",
  "request_password_reset",
]);
/** Texts with a closed set of values. Other texts may be a player's own, and stay out of sentences. */
const ENUMS = new Set(["status", "channel", "type", "action", "outcome"]);
/** Plain facts that no sentence needs. */
const UNSAID = new Set(["success", "dry_run", "has_more", "replayed"]);

/** The outcome of a call, in words that are true without its data. */
export function sentenceOf(operation: Operation, structured: Structured): string {
  const { title } = operation;
  if (structured.dry_run === true && !("status_url" in structured)) {
    return `${title}: a dry run. Nothing was changed or sent. Call again without dry_run to do it.${reach(structured.preflight)}`;
  }
  if (operation.file) return `${title}: ${filePart(structured)}`;
  if (typeof structured.status_url === "string") return `${title}: ${jobPart(structured, operation)}`;
  if (operation.name === "preflight_campaign") return `${title}:${reach(structured)}`;
  if (operation.name === "campaign_stats") return `${title}: ${statsPart(structured)}`;
  if (operation.name === "explain_eligibility") return `${title}: ${eligibilityPart(structured)}`;
  if (operation.name === "segment_reach") return `${title}:${reach(structured)}`;
  if (operation.name === "compliance_check") return `${title}: ${checkedPart(structured)}`;
  if (isRecord(structured.campaign) && "status" in structured.campaign)
    return `${title}: ${campaignPart(structured.campaign, operation)}`;
  if (operation.name === "consent_revoke") return `${title}: ${revokedPart(structured)}`;
  const journey = journeyPart(operation, structured);
  if (journey !== null) return `${title}: ${journey}`;
  if (QUEUED.has(operation.name)) return `${title}: queued. It is not done yet.`;
  const facts = [...recordParts(structured), factsOf(structured, operation)]
    .filter((part) => part !== "")
    .join(", ");
  const warned = Array.isArray(structured.warnings) && structured.warnings.length > 0;
  if (operation.effect === "read")
    return `${title}: ${facts || "see the answer's fields"}${warned ? "; read its warnings" : ""}.`;
  return `${title}: done${facts ? `; ${facts}` : ""}.`;
}

/** The inbox needs no consent, so no revocation stops it. */
function revokedPart({ revoked }: Structured): string {
  const channels = (revoked as string[]).join(", ");
  return `done; nothing goes by ${channels} any more. The inbox needs no consent: create_suppression with channel all ends that too.`;
}

function filePart({ text, rows, has_more, url, expires_at }: Structured): string {
  const shown = Math.max(0, recordsIn(String(text)) - 1);
  const link = url ? ` The whole file, until ${expires_at}: ${url}` : "";
  if (has_more !== true) return `${shown === 1 ? "the row is" : `all ${shown} rows are`} here.${link}`;
  return `the first ${shown}${rows === undefined ? "" : ` of ${rows}`} rows are here; the rest is not.${link}`;
}

/** The records of CSV text: line ends outside quotes. */
function recordsIn(text: string): number {
  let quoted = false;
  let records = 0;
  for (const character of text) {
    if (character === '"') quoted = !quoted;
    else if (character === "\n" && !quoted) records++;
  }
  return records;
}

function jobPart(job: Structured, { crud }: Operation): string {
  const { status, total, processed, succeeded, failed, skipped } = job;
  const poll = crud ? ` Poll get_${crud.table.noun} until it is completed or failed.` : "";
  if (status === "queued") return `queued. Nothing has been read yet.${poll}`;
  const counts = `${succeeded} of ${counted(Number(total ?? processed), "row")} succeeded, ${failed} failed${skipped ? `, ${skipped} skipped` : ""}`;
  if (status === "processing") return `under way; so far ${counts}.${poll}`;
  const isDry = isRecord(job.summary) && job.summary.dry_run === true;
  return `${status}; ${counts}.${isDry ? " It was a dry run: no row was written." : ""}`;
}

function reach(checked: unknown): string {
  if (!isRecord(checked)) return "";
  const { allowed, audience, blocked, deferred, errors, warnings } = checked;
  const faults = Array.isArray(errors) && errors.length > 0 ? ` Errors: ${errors.length}.` : "";
  const notes = Array.isArray(warnings) && warnings.length > 0 ? ` Warnings: ${warnings.length}.` : "";
  const players = counted(Number(audience), "player");
  return ` It would reach ${allowed} of ${players}${waitingPart(deferred)}${reasons("; blocked", blocked)}.${faults}${notes}`;
}

function waitingPart(deferred: unknown): string {
  if (!isRecord(deferred)) return "";
  const counts = Object.entries(deferred).map(
    ([reason, one]) => [reason, isRecord(one) ? Number(one.count) : 0] as const,
  );
  const waiting = counts.reduce((total, [, count]) => total + count, 0);
  return waiting === 0 ? "" : `; ${waiting} of them must wait${reasons("", Object.fromEntries(counts))}`;
}

function statsPart(stats: Structured): string {
  const { audience, skipped, status } = stats;
  if (audience === 0 && (status === "draft" || status === "scheduled")) {
    return `the campaign is ${status}, and recipients are counted from its start on. preflight_campaign says whom it would reach now.`;
  }
  const accepted = Number(stats.sent) + Number(stats.delivered);
  const others = ["pending", "bounced", "failed", "unknown", "cancelled"].filter((name) => stats[name]);
  const rest = others.map((name) => `; ${name} ${stats[name]}`).join("");
  const states = `sent ${accepted} of ${audience}${reasons("; skipped", skipped)}${rest}.`;
  return `${states} ${actsPart(stats)} ${stats.converted}.${costPart(stats.cost)}${testPart(stats.ab_test)}`;
}

function actsPart({ calls, channel, opens_human, clicks_human }: Structured): string {
  if (isRecord(calls)) return `${callsPart(calls)} Converted`;
  return channel === "sms" ? "Converted" : `Opened by ${opens_human}, clicked by ${clicks_human}, converted`;
}

function costPart(cost: unknown): string {
  if (!isRecord(cost) || cost.amount === null || cost.currency === null) return "";
  const { amount, currency, unit, units, unpriced_units } = cost;
  const unpriced = unpriced_units === 0 ? "" : `, plus ${unpriced_units} of unknown price`;
  return ` Cost so far: ${amount} ${currency} for ${counted(Number(units), String(unit))}${unpriced}.`;
}

const VERDICTS: Readonly<Record<string, string>> = {
  significant: "significant at 95 %",
  not_significant: "not significant at 95 %",
  not_enough_messages: "not enough messages yet to say more",
};

const REACHED: Readonly<Record<string, string>> = {
  open: "opens",
  click: "clicks",
  conversion: "conversions",
  redeem: "redemptions",
};

/** The ids of variants have a closed form, so they can stand in a sentence. */
function testPart(test: unknown): string {
  if (!isRecord(test)) return "";
  const { metric, leader_id, runner_up_id, lead, p_value, verdict, winner_id } = test;
  const reached = REACHED[String(metric)];
  const said = `${VERDICTS[String(verdict)]}${p_value === null ? "" : ` (${pWords(Number(p_value))})`}`;
  const led =
    leader_id === null
      ? `no variant leads by ${reached}; ${said}`
      : `${leader_id} leads ${runner_up_id} by ${(Number(lead) * 100).toFixed(1)} percentage points of ${reached}, ${said}`;
  return ` A/B test: ${led}.${winner_id === null ? "" : ` The rest got ${winner_id}.`}`;
}

/** With four places: 0.0496 is significant, and 0.050 would not look so. */
const pWords = (p: number) => (p < 0.0001 ? "p < 0.0001" : `p ${p.toFixed(4)}`);

function callsPart(calls: Structured): string {
  const figures = (some: Structured) =>
    `${counted(Number(some.placed), "call")}, answered ${some.answered}, voicemail ${some.voicemail}, opted out ${some.opted_out}, ${counted(Number(some.minutes), "minute")}`;
  const { abandoned_share: law, simulated } = calls;
  const share =
    isRecord(law) && law.percent !== null ? ` Abandoned in ${law.days} days: ${law.percent} %.` : "";
  const played =
    isRecord(simulated) && Number(simulated.placed) > 0
      ? ` Simulated, so nobody was called: ${figures(simulated)}.`
      : "";
  return `${figures(calls)}.${share}${played}`;
}

/** The reasons are the gate's own words. */
function eligibilityPart({ channel, allowed, reasons: against, defer }: Structured): string {
  if (allowed !== true) return `not allowed by ${channel}: ${[against].flat().join(", ")}.`;
  const dropped = isRecord(defer) && defer.dropped === true ? " (a message is dropped)" : "";
  const later = isRecord(defer)
    ? `, but not now${dropped}: ${[defer.reasons].flat().join(", ")} until ${defer.retry_at}`
    : "";
  return `allowed by ${channel}${later}.`;
}

function checkedPart({ counts }: Structured): string {
  if (!isRecord(counts)) return "see the answer's fields.";
  const { checked, allowed, waiting, dropped, blocked, deferred } = counts;
  const delays = [
    waiting && `${waiting} of them must wait`,
    dropped && `${dropped} of them would be dropped`,
  ].filter(Boolean);
  const later = delays.length > 0 ? ` ${delays.join(", ")}${reasons("", deferred)}.` : "";
  return `${allowed} of ${checked} may be contacted${reasons("; reasons", blocked)}.${later}`;
}

const STATES: Readonly<Record<string, string>> = {
  queued: "the campaign is queued; campaign_stats counts its messages",
  sending: "the campaign is being sent; campaign_stats counts its messages",
  scheduled:
    "the campaign is scheduled; nothing has been sent yet, and audience_count is filled at its start. preflight_campaign counts before",
};

function campaignPart({ id, status }: Structured, { effect }: Operation): string {
  if (effect === "create") return `done; the new campaign ${id} is ${status}.`;
  return `${STATES[String(status)] ?? `the campaign is ${status}`}.`;
}

/** The records of an answer, by their ids. */
function recordParts(structured: Structured): string[] {
  return ["journey", "game"].flatMap((noun) => {
    const record = structured[noun];
    return isRecord(record) ? [`the ${noun} ${record.id} is ${record.status}`] : [];
  });
}

/** Of a written record only what it is: its other fields are those that the caller gave, and defaults. */
function factsOf(structured: Structured, { crud, effect }: Operation): string {
  const isWritten = crud !== undefined && effect !== "read";
  const facts = Object.entries(structured).flatMap(([name, value]) => {
    if (UNSAID.has(name)) return [];
    const isPlain = !isWritten && (typeof value === "number" || typeof value === "boolean");
    return isPlain || (ENUMS.has(name) && typeof value === "string") ? [`${name} ${value}`] : [];
  });
  return facts.slice(0, MOST_FACTS).join(", ");
}

function isRecord(value: unknown): value is Structured {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
