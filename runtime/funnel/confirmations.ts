import { hash, randomBytes } from "node:crypto";
import type { Sql } from "#db/database.ts";
import { invalid } from "#runtime/faults.ts";
import type { Confirmation } from "#runtime/operation/context.ts";
import type { Operation } from "#runtime/operation/operation.ts";

/** A confirmation token, which is shown once, and its expiry. */
export interface Given {
  token: string;
  until: string;
}

const TOKEN_BYTES = 16;

const idOf = (token: string) => hash("sha256", token, "buffer");

/** Stores an agent's preview and answers the token that confirms it. */
export async function giveConfirmation(
  sql: Sql,
  scope: string,
  { name }: Operation,
  shown: { argumentsHash: Buffer; bound: string | null },
): Promise<Given> {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const [row] = await sql<{ until: string }[]>`
    insert into agent_confirmations (property_id, id, tool, arguments_hash, bound)
    values (${scope}, ${idOf(token)}, ${name}, ${shown.argumentsHash}, ${shown.bound})
    returning to_json(expires_at) #>> '{}' as until`;
  return { token, until: row!.until };
}

/**
 * Uses a token in the transaction that it confirms: a concurrent twin waits, and then finds the token used. Answers
 * the state that the operation must find, or null. Throws `invalid`, naming the token's problem.
 */
export async function useConfirmation(
  sql: Sql,
  scope: string,
  operation: Operation,
  { token, argumentsHash }: Confirmation,
): Promise<{ bound: string | null }> {
  const id = idOf(token);
  // An operation that accepts another operation's token compares the shown state itself.
  const [used] = await sql<{ bound: string | null }[]>`
    update agent_confirmations set used_at = clock_timestamp()
    where property_id = ${scope} and id = ${id} and used_at is null and expires_at > clock_timestamp()
      and (tool = ${operation.name} and arguments_hash = ${argumentsHash}
        or tool = ${operation.confirmedBy ?? null} and bound is not null)
    returning bound`;
  if (used) return used;
  const [kept] = await sql<Kept[]>`
    select tool, used_at is not null as used, expires_at <= clock_timestamp() as expired
    from agent_confirmations where property_id = ${scope} and id = ${id}`;
  throw invalid("confirm_token", refusal(operation, kept));
}

interface Kept {
  tool: string;
  used: boolean;
  expired: boolean;
}

function refusal({ name }: Operation, kept: Kept | undefined): string {
  if (!kept) return "is not known here: it is mistyped, too old, or of another property";
  if (kept.used) return "has been used: what it confirmed is done, and a token does one thing once";
  if (kept.expired) return "has expired: it holds for ten minutes";
  if (kept.tool !== name) return `was given by ${kept.tool}, and confirms nothing else`;
  return "was given for other arguments: repeat those of the preview exactly";
}
