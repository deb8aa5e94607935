import { hash, randomBytes } from "node:crypto";
import type { Sql } from "#db/database.ts";
import { invalid } from "#runtime/faults.ts";
import { needsProperty } from "#runtime/funnel/access.ts";
import type { Call, Confirmation } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import type { Property } from "#runtime/operation/property.ts";
import { resolveProperty } from "./access.ts";
import { findAnswer } from "./recorded-refusals.ts";
import type { Outcome, Service } from "./service.ts";
import { keyedCall, type Running, scopeOf } from "./transaction.ts";

/** A confirmation token, which is shown once, and its expiry. */
export interface GivenToken {
  token: string;
  until: string;
}

/** An agent's call of an operation. */
export interface AgentCall {
  service: Service;
  operation: Operation;
  call: Call;
  input: Record<string, unknown>;
}

interface Preview {
  argumentsHash: Buffer;
  bound: string | null;
}

const TOKEN_BYTES = 16;

/** A token is good for the credential that got it, and means nothing in any other's hands. */
const idOf = (token: string, { actor }: Call) => hash("sha256", `${actor.id} ${token}`, "buffer");

/** Whether agents must confirm calls here. The property or the key can switch that off. */
export async function mustConfirm(agentCall: AgentCall): Promise<boolean> {
  const { actor } = agentCall.call;
  const property = await propertyOf(agentCall);
  if (actor.type === "api_key" && actor.agentConfirmation === "off") return false;
  return property?.agent_confirmation !== "off";
}

async function propertyOf({ service, operation, call, input }: AgentCall): Promise<Property | null> {
  return needsProperty(operation) ? resolveProperty(service.directory, operation, call, [input]) : null;
}

/** The recorded answer under the call's Idempotency-Key, or null. Throws `idempotency_key_reused`. */
export async function recordedAnswer(agentCall: AgentCall): Promise<Outcome | null> {
  if (!agentCall.call.idempotency) return null;
  const run = { ...agentCall, property: await propertyOf(agentCall) };
  const keyed = keyedCall(run);
  return keyed && findAnswer(run, keyed);
}

/** Stores an agent's preview and answers the token that confirms it. */
export async function giveConfirmation(agentCall: AgentCall, preview: Preview): Promise<GivenToken> {
  const { operation, call } = agentCall;
  return among(agentCall, (sql, scope) => storePreview(sql, call, { scope, operation, preview }));
}

/** Ends a token whose preview the human has declined: nobody can accept it afterwards. */
export async function endConfirmation(agentCall: AgentCall, token: string): Promise<void> {
  const id = idOf(token, agentCall.call);
  await among(
    agentCall,
    (sql, scope) => sql`
      delete from agent_confirmations where property_id = ${scope} and id = ${id} and used_at is null`,
  );
}

/** Runs a statement among the confirmations where the call's are stored. */
async function among<T>(agentCall: AgentCall, work: (sql: Sql, scope: string) => Promise<T>): Promise<T> {
  const { service, operation, call } = agentCall;
  const property = await propertyOf(agentCall);
  const run = (sql: Sql) => work(sql, scopeOf(call, property));
  return operation.realm === "property" ? service.db.asProperty(property!.id, run) : service.db.asSystem(run);
}

interface Stored {
  scope: string;
  operation: Operation;
  preview: Preview;
}

async function storePreview(
  sql: Sql,
  call: Call,
  { scope, operation: { name }, preview: { argumentsHash, bound } }: Stored,
): Promise<GivenToken> {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const [row] = await sql<{ until: string }[]>`
    with given as (
      insert into agent_confirmations (property_id, id, tool, arguments_hash, bound)
      values (${scope}, ${idOf(token, call)}, ${name}, ${argumentsHash}, ${bound})
      returning expires_at)
    select to_json(expires_at) #>> '{}' as until from given`;
  return { token, until: row!.until };
}

/**
 * Uses a token in the transaction that it confirms: a concurrent twin waits, and then finds the token used. Answers
 * the state that the operation must find, or null. Throws `invalid`, naming the token's problem.
 */
export async function useConfirmation(
  { sql, operation, call, property }: Pick<Running, "sql" | "operation" | "call" | "property">,
  { token, argumentsHash }: Confirmation,
): Promise<{ bound: string | null }> {
  const scope = scopeOf(call, property);
  const id = idOf(token, call);
  // An operation that accepts another operation's token compares the shown state itself.
  const [used] = await sql<{ bound: string | null }[]>`
    update agent_confirmations set used_at = statement_timestamp()
    where property_id = ${scope} and id = ${id} and used_at is null and expires_at > statement_timestamp()
      and (tool = ${operation.name} and arguments_hash = ${argumentsHash}
        or tool = ${operation.confirmedBy ?? null} and bound is not null)
    returning bound`;
  if (used) return used;
  const [stored] = await sql<StoredToken[]>`
    select tool, used_at is not null as used, expires_at <= statement_timestamp() as expired
    from agent_confirmations where property_id = ${scope} and id = ${id}`;
  throw invalid("confirm_token", refusal(operation, stored));
}

interface StoredToken {
  tool: string;
  used: boolean;
  expired: boolean;
}

function refusal({ name }: Operation, stored: StoredToken | undefined): string {
  if (!stored)
    return "is not known here: it is mistyped, too old, or of another property or credential. Call without it for a new preview";
  if (stored.used)
    return "has been used: the call that it confirmed is done. Call without it for a new preview";
  if (stored.expired) return "has expired after ten minutes. Call without it for a new preview";
  if (stored.tool !== name)
    return `was given by ${stored.tool}, and confirms only that. Call without it for a preview of this`;
  return "was given for other arguments. Repeat those of the preview exactly";
}
