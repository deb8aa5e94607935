import { counted } from "#runtime/counted.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { reasons } from "./reasons.ts";

type Structured = Record<string, unknown>;

const MOST_PROBLEMS = 20;

/** The answer about a journey in words; null for other operations. */
export function journeyPart({ name }: Operation, structured: Structured): string | null {
  if (name === "validate_journey") return checkedPart(structured);
  if (name === "simulate_journey") return simulatedPart(structured);
  if (name === "draw_journey") return `\n${structured.mermaid}`;
  if (name === "journey_report") return reportPart(structured);
  if (name === "explain_enrollment") return explainedPart(structured);
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

interface Standing {
  node: string;
  here: number;
}

function reportPart({ version, all_versions, nodes, overdue }: Structured): string {
  const {
    entered,
    inside,
    goal_reached,
    reasons: left,
  } = all_versions as Record<string, number> & {
    reasons: Record<string, number>;
  };
  const here = Object.fromEntries(
    (nodes as Standing[]).filter((node) => node.here > 0).map((node) => [node.node, node.here]),
  );
  const late = overdue === 0 ? "" : ` ${overdue} are overdue.`;
  return `${entered} have entered, ${inside} are inside, ${goal_reached} have reached the goal${reasons("; left", left)}${reasons(`; at the nodes of version ${version}`, here)}.${late}`;
}

interface Way {
  label: string;
  to: string | null;
}

interface LateEvent {
  node: string;
  event: string;
  occurred_at: string;
}

function explainedPart({ why, next, path, late_events }: Structured): string {
  const ways = (next as Way[]).map(({ label, to }) => `${label} to ${to ?? "the end"}`);
  const steps = (path as { node: string }[]).map(({ node }) => node);
  const late = (late_events as LateEvent[]).map(
    ({ node, event, occurred_at }) =>
      ` The event ${event} of ${occurred_at} was reported after ${node} was over.`,
  );
  const then = ways.length === 0 ? "" : ` Then: ${ways.join(", ")}.`;
  return `${why}${then} The way so far: ${shortened(steps).join(", ")}.${late.join("")}`;
}

/** The first and the last steps of a long way. */
function shortened(steps: string[]): string[] {
  return steps.length <= MOST_PROBLEMS
    ? steps
    : [...steps.slice(0, MOST_PROBLEMS / 2), "…", ...steps.slice(-MOST_PROBLEMS / 2)];
}

interface Counted {
  messages: number;
}

function simulatedPart({ entered, barred, figures, ...rest }: Structured): string {
  const { inside, reasons: left } = figures as { inside: number; reasons: Record<string, number> };
  const sent = summed(rest.sends as (Counted & { channel: string })[], ({ channel }) => channel);
  const kept = summed(rest.not_sent as (Counted & { reason: string })[], ({ reason }) => reason);
  const late = summed(rest.deferred as (Counted & { reason: string })[], ({ reason }) => reason);
  const collisions = (rest.collisions as object[]).length;
  const meets = collisions > 0 ? ` It meets ${counted(collisions, "scheduled campaign")}.` : "";
  const messages = Object.keys(sent).length === 0 ? "No message goes out" : reasons("Messages", sent);
  return `${counted(entered as number, "enters", "enter")}, ${counted(barred as number, "is", "are")} barred. ${messages}${reasons("; kept back", kept)}${reasons("; put off", late)}. At the end ${counted(inside, "is", "are")} inside${reasons("; left", left)}.${meets}`;
}

function summed<Row extends Counted>(rows: readonly Row[], name: (row: Row) => string) {
  const counts: Record<string, number> = {};
  for (const row of rows) counts[name(row)] = (counts[name(row)] ?? 0) + row.messages;
  return counts;
}
