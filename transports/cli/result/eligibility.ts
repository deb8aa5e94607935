import { counted } from "#runtime/counted.ts";
import { asTable, type Layout, shownText, wrapped } from "./table.ts";

interface Step {
  rule: string;
  result: "passes" | "blocks" | "waits" | "not_applicable";
  meaning: string;
  records: { table: string; id: string; what: string | null; since: string | null; until: string | null }[];
}

/** The answer of explain_eligibility. */
export interface Eligibility {
  player_id: string;
  channel: string;
  allowed: boolean;
  defer?: { retry_at: string | null };
  rules: Step[];
  send: object | null;
}

/** The rules that stand in the way in full, and of the others how many there are. */
export function eligibilityText(answer: Eligibility, { width, heading }: Layout): string {
  const of = (result: Step["result"]) => answer.rules.filter((step) => step.result === result);
  const [blocks, waits, passes, others] = [of("blocks"), of("waits"), of("passes"), of("not_applicable")];
  const until = answer.defer?.retry_at ? ` until ${shownText(answer.defer.retry_at)}` : "";
  const verdict = !answer.allowed
    ? "may not be sent"
    : waits.length > 0
      ? `would wait${until}`
      : "may be sent";
  const title = `${answer.channel} to ${answer.player_id}: ${verdict}`;
  const parts = [
    heading?.(title) ?? title,
    ...blocks.map((step) => stepText("blocks", step, width)),
    ...waits.map((step) => stepText("waits", step, width)),
    `${blocks.length + waits.length > 0 ? counted(passes.length, "other passes", "others pass") : counted(passes.length, "rule passes", "rules pass")}, ${counted(others.length, "is", "are")} not about this.`,
    ...(answer.send ? [`The campaign for this player:\n${asTable(answer.send, { width })}`] : []),
  ];
  return parts.join("\n\n");
}

function stepText(verb: string, { rule, meaning, records }: Step, width: number | undefined): string {
  const decided = records.map(({ table, id, what, since, until }) =>
    [
      `${table} ${id}`,
      ...(what ? [shownText(what)] : []),
      ...(since ? [`since ${shownText(since)}`] : []),
      ...(until ? [`until ${shownText(until)}`] : []),
    ].join(", "),
  );
  const lines = [meaning, ...decided].flatMap((text) => wrapped(text, width && width - 4).split("\n"));
  return [`${verb} ${rule}`, ...lines.map((line) => `    ${line}`)].join("\n");
}
