import { type Fault, faultBody, toFault } from "#runtime/faults.ts";
import { type Answer, claimKey, findRecorded, type Keyed, recordedAnswers } from "./idempotency.ts";
import type { Outcome } from "./service.ts";
import { type Run, transact } from "./transaction.ts";

/**
 * Records a call's refusal by the domain under its key, so that a repeat gets it again. The call's own transaction
 * was rolled back, so a twin may have recorded an answer first: then that answer is given. Throws any other error as
 * it is.
 */
export async function recordRefusal(call: Run, keyed: Keyed, error: unknown): Promise<Outcome> {
  const fault = toFault(error);
  if (!isRecorded(fault)) throw error;
  const refusal = refusalOf(fault);
  return transact(call, async (sql) => {
    const recorded = await claimKey(sql, keyed);
    if (recorded) return { ...recorded, replayed: true };
    await sql`${recordedAnswers([{ ...keyed, ...refusal, operation: call.operation.name }])}`;
    return { ...refusal, replayed: false };
  });
}

/** Whether a repeat of the key gets the refusal again: one by the domain. */
export function isRecorded({ code, status }: Fault): boolean {
  return code !== "idempotency_key_in_use" && (status === 404 || status === 409);
}

/** A refusal as a key's answer. */
export function refusalOf(fault: Fault): Answer {
  return { status: fault.status, body: JSON.stringify(faultBody(fault)) };
}

/** The recorded answer of a keyed call; null when there is none. Throws `idempotency_key_reused`. */
export async function findAnswer(call: Omit<Run, "inputs">, keyed: Keyed): Promise<Outcome | null> {
  const recorded = await transact(call, (sql) => findRecorded(sql, keyed));
  return recorded && { ...recorded, replayed: true };
}
