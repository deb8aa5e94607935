import type { Operation } from "#runtime/operation/operation.ts";
import { reasons } from "./reasons.ts";

type Structured = Record<string, unknown>;

const MOST_PROBLEMS = 20;

/** The answer about a journey in words; null for other operations. */
export function journeyPart({ name }: Operation, structured: Structured): string | null {
  if (name === "validate_journey") return checkedPart(structured);
  if (name === "simulate_journey") return simulatedPart(structured);
  if (name === "draw_journey") return `\n${structured.mermaid}`;
  return null;
}

interface Problem {
  node: string | null;
  message: string;
}

function checkedPart({ ok, errors, warnings }: Structured): string {
  const lines = [
    ...(errors as Problem[]).map((problem) => lineOf("error", problem)),
    ...(warnings as Problem[]).map((problem) => lineOf("warning", problem)),
  ];
  const more = lines.length > MOST_PROBLEMS ? [`… and ${lines.length - MOST_PROBLEMS} more`] : [];
  const verdict = ok ? "it can be published." : "it cannot be published yet.";
  return [verdict, ...lines.slice(0, MOST_PROBLEMS), ...more].join("\n");
}

const lineOf = (kind: string, { node, message }: Problem) =>
  `${kind}${node === null ? "" : ` at ${node}`}: ${message}`;

interface Counted {
  messages: number;
}

function simulatedPart({ entered, barred, figures, ...rest }: Structured): string {
  const { inside, reasons: left } = figures as { inside: number; reasons: Record<string, number> };
  const sent = summed(rest.sends as (Counted & { channel: string })[], ({ channel }) => channel);
  const kept = summed(rest.not_sent as (Counted & { reason: string })[], ({ reason }) => reason);
  const late = summed(rest.deferred as (Counted & { reason: string })[], ({ reason }) => reason);
  const collisions = (rest.collisions as object[]).length;
  const meets = collisions > 0 ? ` It meets ${collisions} scheduled campaigns.` : "";
  const messages = Object.keys(sent).length === 0 ? "No message goes out" : reasons("Messages", sent);
  return `${entered} enter, ${barred} are barred. ${messages}${reasons("; kept back", kept)}${reasons("; put off", late)}. At the end ${inside} are inside${reasons("; left", left)}.${meets}`;
}

function summed<Row extends Counted>(rows: readonly Row[], name: (row: Row) => string) {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[name(row)] = (counts[name(row)] ?? 0) + row.messages;
  return counts;
}
