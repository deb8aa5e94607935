import type { Work } from "#db/client.ts";
import { atOnce } from "#db/statement.ts";
import { NIL_UUID } from "#db/types.ts";
import type { Call } from "./context.ts";
import type { Property } from "./directory.ts";
import { faultBody, toFault } from "./faults.ts";
import {
  findRecorded,
  isLockTimeout,
  isRecorded,
  type Keyed,
  keyInUse,
  lockText,
  recordPart,
} from "./idempotency.ts";
import type { Outcome } from "./invoke.ts";
import { keepsAnswer } from "./operation.ts";
import { type Run, transact } from "./transact.ts";

/** Strangers share no key, and what they are refused is not kept. */
export function keyedCall({ operation, call, property }: Omit<Run, "inputs">): Keyed | null {
  const { idempotency } = call;
  if (!idempotency || !keepsAnswer(operation) || operation.access === "public") return null;
  return { scope: scopeOf(call, property), ...idempotency };
}

/** Whose a key or a token is: the property's, or the user's where an operation has none. */
export function scopeOf({ actor }: Call, property: Property | null): string {
  return property?.id ?? actor.id ?? NIL_UUID;
}

/** What a keyed call is answered with whose transaction was undone: what is recorded, or its own refusal. */
export async function answeredOtherwise(
  call: Run,
  keyed: Keyed,
  effects: { owned: boolean; recorded: boolean },
  error: unknown,
): Promise<Outcome> {
  if (effects.recorded || isRecorded(error)) {
    const recorded = await findAnswer(call, keyed);
    // It has expired at this very moment.
    if (!recorded) throw keyInUse(error);
    return recorded;
  }
  if (!effects.owned && isLockTimeout(error)) throw keyInUse(error);
  const fault = toFault(error);
  if (fault.status >= 500) throw error;
  if (fault.status !== 404 && fault.status !== 409) {
    const recorded = await findAnswer(call, keyed);
    if (recorded) return recorded;
    throw error;
  }
  // A domain refusal is an answer too: it is what the same key is answered with again.
  const answer = { status: fault.status, body: JSON.stringify(faultBody(fault)) };
  const record: Work<Outcome> = async (sql) => {
    const recorded = await findRecorded(sql, keyed);
    if (recorded) return { ...recorded, replayed: true };
    await atOnce(sql, [recordPart(keyed, call.operation.name, answer)]);
    return { ...answer, replayed: false };
  };
  return transact(call, record, { before: lockText(keyed) }).catch((failure: unknown) => {
    throw isLockTimeout(failure) ? keyInUse(failure) : failure;
  });
}

/** The recorded answer of a keyed call; null when there is none. Throws `idempotency_key_reused`. */
export async function findAnswer(call: Omit<Run, "inputs">, keyed: Keyed): Promise<Outcome | null> {
  const recorded = await transact(call, (sql) => findRecorded(sql, keyed));
  return recorded && { ...recorded, replayed: true };
}
