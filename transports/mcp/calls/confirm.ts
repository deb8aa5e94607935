import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import { canonicalHash } from "#runtime/funnel/audit.ts";
import {
  type AgentCall,
  type GivenToken,
  giveConfirmation,
  mustConfirm,
  recordedAnswer,
} from "#runtime/funnel/confirmations.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import { isRecord, readVisible, visible } from "#transports/mcp/answers/results.ts";

/** The data of a call besides its arguments. */
export interface Said {
  /** The argument `confirm_token`. */
  token: string | undefined;
  context: ServerContext;
}

/** The outcome, new or recorded, or the answer that must come first. */
export type Answer =
  | { outcome: Outcome }
  | { first: CallToolResult | InputRequiredResult }
  | { declined: true };

const ANSWER = "confirm";
const MOST_ARGUMENTS = 600;
const MOST_EXAMPLE = 200;

/**
 * Runs a confirmed operation. An unconfirmed one is shown first: to the human if the client can ask, else to the agent.
 * Throws the operation's faults, and `invalid` for a token that confirms nothing.
 */
export async function doConfirmed(asked: AgentCall, { token: argument, context }: Said): Promise<Answer> {
  const recorded = await recordedAnswer(asked);
  if (recorded) return { outcome: recorded };
  const human = canAskHuman(context) ? humanSaid(context) : null;
  if (human?.answer === "no") return { declined: true };
  const token = human ? human.token : argument;
  if (token === undefined) return show(asked, human !== null);
  const { service, operation, call, input } = asked;
  const confirmation = { token, argumentsHash: hashOf(asked) };
  try {
    return { outcome: await invoke(service, operation, { ...call, confirmation }, input) };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "precondition_failed") throw error;
    return show(asked, human !== null, error.message);
  }
}

/** The answer of an operation whose preview confirms others, with a token if confirmation is required. */
export async function withToken(
  asked: AgentCall,
  outcome: Outcome,
  context: ServerContext,
): Promise<Outcome> {
  if (canAskHuman(context) || !(await mustConfirm(asked))) return outcome;
  const shown = { argumentsHash: hashOf(asked), bound: outcome.bound ?? null };
  const { token } = await giveConfirmation(asked, shown);
  return { ...outcome, body: JSON.stringify({ ...JSON.parse(outcome.body), confirm_token: token }) };
}

function hashOf({ input: { dry_run: _, ...input } }: AgentCall): Buffer {
  return canonicalHash(input);
}

/** Whether the client has declared forms for its human. Revisions before 2026-07-28 need a session for that. */
function canAskHuman({ mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined;
  const declared = Capabilities.safeParse(envelope?.[CLIENT_CAPABILITIES_META_KEY]);
  if (!declared.success) return false;
  const { elicitation } = declared.data;
  return "form" in elicitation || Object.keys(elicitation).length === 0;
}

const Capabilities = z.looseObject({ elicitation: z.looseObject({}) });

function humanSaid({ mcpReq }: ServerContext): { answer: "yes" | "no" | "nothing"; token?: string } {
  const said = inputResponse(mcpReq.inputResponses, ANSWER);
  if (said.kind !== "elicit") return { answer: "nothing" };
  const token = mcpReq.requestState();
  const agrees = said.action === "accept" && said.content?.[ANSWER] === true && typeof token === "string";
  return agrees ? { answer: "yes", token: String(token) } : { answer: "no" };
}

/** The preview of a dry run, with the token that confirms it. */
async function show(asked: AgentCall, human: boolean, changed?: string): Promise<Answer> {
  const { service, operation, call, input } = asked;
  const tried = await invoke(service, operation, call, { ...input, dry_run: input.dry_run || true });
  const preview = readVisible(tried.body) as Record<string, unknown>;
  // A correctable fault may appear here: the operation is then refused before anybody is asked.
  if (isRecord(preview.preflight) && preview.preflight.ok === false) {
    await invoke(service, operation, call, input, { dry: true });
  }
  const lines = [
    `${operation.title}: not done yet.${changed ? ` ${visible(changed)}` : ""}`,
    ...factsOf(preview),
  ];
  const given = await giveConfirmation(asked, { argumentsHash: hashOf(asked), bound: tried.bound ?? null });
  const first = human
    ? question(asked, [...lines, ...exampleIn(preview)], given)
    : shown(preview, lines, given);
  return { first };
}

function shown(
  preview: Record<string, unknown>,
  lines: string[],
  { token, until }: GivenToken,
): CallToolResult {
  const how = `Show this to whom you work for. To do it, call again with the same arguments and confirm_token = ${token}; it holds once, until ${until}.`;
  return {
    structuredContent: {
      confirmation_required: true,
      ...preview,
      confirm_token: token,
      confirm_by: until,
    },
    content: [{ type: "text", text: [...lines, how].join("\n") }],
  };
}

function question(
  { operation, input }: AgentCall,
  lines: string[],
  { token }: GivenToken,
): InputRequiredResult {
  const { [operation.property ?? ""]: _, ...shownInput } = input;
  const given = visible(JSON.stringify(shownInput));
  const about = given.length > MOST_ARGUMENTS ? `${given.slice(0, MOST_ARGUMENTS)}…` : given;
  return inputRequired({
    inputRequests: {
      [ANSWER]: inputRequired.elicit({
        message: [...lines, `${operation.name} ${about}`].join("\n"),
        requestedSchema: {
          type: "object",
          properties: { [ANSWER]: { type: "boolean", title: "Do it", default: false } },
          required: [ANSWER],
        },
      }),
    },
    requestState: token,
  });
}

/** The figures of a preview, without texts that a player wrote. */
function factsOf({ preflight, remaining, estimated_cost }: Record<string, unknown>): string[] {
  if (typeof remaining === "number") {
    return [`${remaining} messages wait to be sent.`, ...costOf(estimated_cost)];
  }
  if (!isRecord(preflight)) return [];
  const blocked = Object.entries(preflight.blocked as Record<string, number>);
  const left = blocked.map(([reason, count]) => `${reason} ${count}`).join(", ");
  return [
    `It would reach ${preflight.allowed} of ${preflight.audience} players.${left ? ` Left out: ${left}.` : ""}`,
    ...costOf(preflight.estimated_cost),
    ...(preflight.ok === false ? ["Something is to be corrected first: see preflight.errors."] : []),
  ];
}

/** The beginning of one message, in quotes: people recognize a campaign by its text, not by its id. */
function exampleIn({ preflight }: Record<string, unknown>): string[] {
  const parsed = Samples.safeParse(preflight);
  const [sample] = parsed.success ? parsed.data.sample_renders : [];
  if (!sample) return [];
  const begun = `${sample.subject ?? sample.text}`.slice(0, MOST_EXAMPLE).toWellFormed();
  return [`One message of them: ${JSON.stringify(visible(begun))}`];
}

const Samples = z.looseObject({
  sample_renders: z.array(z.looseObject({ subject: z.string().nullable(), text: z.string() })),
});

function costOf(cost: unknown): string[] {
  if (!isRecord(cost)) return [];
  const { amount, currency, unit, units, unit_price } = cost;
  if (amount === null) return ["What it would cost is not known."];
  if (unit_price === 0) return ["It would cost nothing."];
  return [`It would cost about ${amount} ${currency}: ${units} ${unit}s at ${unit_price}.`];
}
