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
  endConfirmation,
  type GivenToken,
  giveConfirmation,
  mustConfirm,
  recordedAnswer,
} from "#runtime/funnel/confirmations.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Outcome } from "#runtime/funnel/service.ts";
import { isGrave } from "#runtime/operation/operation.ts";
import { sealedFields } from "#runtime/secrets/sealed-fields.ts";
import { oneLine, visible } from "#runtime/visible-text.ts";
import { isRecord, readVisible } from "#transports/mcp/answers/results.ts";

/** The data of a call besides its arguments. */
export interface Said {
  /** The argument `confirm_token`. */
  token: string | undefined;
  /** The arguments as the agent wrote them. */
  given: Record<string, unknown>;
  context: ServerContext;
}

/** The outcome, new or recorded, or the answer that must come first. */
export type Answer =
  | { outcome: Outcome }
  | { first: CallToolResult | InputRequiredResult }
  | { declined: true };

const ANSWER = "confirm";
const MOST_ARGUMENTS = 600;
const PROPOSES =
  "Confirming does not do it yet: it becomes a proposal, which a manager of the property decides on.";

/**
 * Runs a confirmed operation. An unconfirmed one is shown first: to the human if the client can ask, else to the agent.
 * Throws the operation's faults, and `invalid` for a token that confirms nothing.
 */
export async function doConfirmed(asked: AgentCall, said: Said): Promise<Answer> {
  const { token: argument, context, given } = said;
  const recorded = await recordedAnswer(asked);
  if (recorded) return { outcome: recorded };
  const human = canAskHuman(context) ? humanSaid(context) : null;
  const asking = { asked, given, human: human !== null };
  if (human?.answer === "no") {
    if (human.token !== undefined) await endConfirmation(asked, human.token);
    return { declined: true };
  }
  const token = human ? human.token : argument;
  if (token === undefined) return show(asking);
  const { service, operation, call, input } = asked;
  const confirmation = { token, argumentsHash: hashOf(asked) };
  try {
    return { outcome: await invoke(service, operation, { ...call, confirmation }, input) };
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "precondition_failed") throw error;
    return show(asking, error.message);
  }
}

/** The answer of an operation whose preview confirms others, with the token for them where one is asked for. */
export async function withToken(
  asked: AgentCall,
  outcome: Outcome,
  context: ServerContext,
): Promise<Outcome> {
  if (canAskHuman(context) || !(await mustConfirm(asked))) return outcome;
  const shown = { argumentsHash: hashOf(asked), bound: outcome.asked?.state ?? null };
  const { token } = await giveConfirmation(asked, shown);
  const told = { message: outcome.asked?.sentences.map(visible).join("\n"), confirm_token: token };
  return { ...outcome, body: JSON.stringify({ ...JSON.parse(outcome.body), ...told }) };
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
  if (typeof token !== "string") return { answer: "no" };
  const agrees = said.action === "accept" && said.content?.[ANSWER] === true;
  return { answer: agrees ? "yes" : "no", token };
}

interface Asking {
  asked: AgentCall;
  given: Record<string, unknown>;
  /** The client asks its human itself. */
  human: boolean;
}

/** Tries the call. A call that asks nothing is done. Another one is shown, with its confirming token. */
async function show({ asked, given, human }: Asking, changed?: string): Promise<Answer> {
  const { service, operation, call, input } = asked;
  const isAlwaysAsked = isGrave(operation);
  const tried = await invoke(
    service,
    operation,
    { ...call, mustAsk: true },
    {
      ...input,
      ...(isAlwaysAsked && { dry_run: input.dry_run || true }),
    },
  );
  if (!isAlwaysAsked && !tried.asked) return { outcome: tried };
  const preview = readVisible(tried.body) as Record<string, unknown>;
  // A correctable fault may appear here: the operation is then refused before anybody is asked.
  if (isRecord(preview.preflight) && preview.preflight.ok === false) {
    await invoke(service, operation, call, input, { dry: true });
  }
  const { sentences = [], approval = [] } = tried.asked ?? {};
  const lines = linesOf(
    { ...asked, input: asGiven(sealedFields(input, operation.sealed), given) },
    [...sentences, ...(approval.length > 0 ? [...approval, PROPOSES] : [])],
    changed,
  );
  const confirmation = await giveConfirmation(asked, {
    argumentsHash: hashOf(asked),
    bound: tried.asked?.state ?? null,
  });
  return { first: human ? question(lines, confirmation) : shown(preview, lines, confirmation) };
}

/** The arguments under the names by which they were given: snake_case and camelCase mean the same. */
function asGiven(input: Record<string, unknown>, given: Record<string, unknown>): Record<string, unknown> {
  const plain = (name: string) => name.replaceAll("_", "").toLowerCase();
  const names = new Map(Object.keys(given).map((name) => [plain(name), name]));
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [names.get(plain(name)) ?? name, value]),
  );
}

/** All that a person is told, by the client's form or by the agent. */
function linesOf({ operation, input }: AgentCall, sentences: string[], changed?: string): string[] {
  const { [operation.property ?? ""]: _, ...shownInput } = input;
  const given = oneLine(visible(JSON.stringify(shownInput)));
  const about = given.length > MOST_ARGUMENTS ? `${given.slice(0, MOST_ARGUMENTS).toWellFormed()}…` : given;
  return [
    `${operation.title}: not done yet.${changed ? ` ${visible(changed)}` : ""}`,
    ...sentences.map(visible),
    `${operation.name} ${about}`,
  ];
}

function shown(
  preview: Record<string, unknown>,
  lines: string[],
  { token, until }: GivenToken,
): CallToolResult {
  const how = `Show this to the person you work for. To do it, call again with the same arguments and confirm_token = ${token}; it holds once, until ${until}.`;
  // A client may read nothing else, and nothing has succeeded.
  const { success: _, ...rest } = preview;
  return {
    structuredContent: {
      confirmation_required: true,
      ...rest,
      message: [...lines, how].join("\n"),
      confirm_token: token,
      confirm_by: until,
    },
    content: [{ type: "text", text: [...lines, how].join("\n") }],
  };
}

function question(lines: string[], { token }: GivenToken): InputRequiredResult {
  return inputRequired({
    inputRequests: {
      [ANSWER]: inputRequired.elicit({
        message: lines.join("\n"),
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
