import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { join } from "#db/sql.ts";
import { Fault, faultBody } from "#runtime/faults.ts";
import type { Actor } from "#runtime/operation/context.ts";
import { auditPart, auditRow, canonicalHash } from "./audit.ts";
import { recordPart } from "./idempotency.ts";
import { effectParts, pendingEffects } from "./outbox.ts";
import { proposedQuestions } from "./questions.ts";
import type { Weight } from "./review.ts";
import type { Running } from "./running.ts";
import type { Outcome } from "./service.ts";

/** The job that ends a proposal on which nobody has decided. */
const EXPIRE_PROPOSAL = { name: "expire_proposal", attempts: 5, input: z.object({ proposalId: z.uuid() }) };

/**
 * Keeps the call as a proposal instead of doing it, in the call's own transaction: its confirmation is used, and its
 * Idempotency-Key has the refusal as its answer.
 */
export async function propose(running: Running, weight: Weight): Promise<Outcome> {
  const { sql, operation, call, property, inputs, keyed, last, many, choose } = running;
  if (many || choose) throw new Fault("approval_required", { message: `${oneByOne(weight)}` });
  const { asked, sentences } = await proposedQuestions(running.effects.questions);
  await sql`rollback to savepoint untouched`;
  const id = randomUUIDv7();
  const input = inputs[0]!;
  const shown = { tool: operation.name, input, asked, sentences };
  const shownHash = canonicalHash(shown).toString("hex");
  const [row] = await sql<{ expires_at: string }[]>`
    with proposed as (
      insert into proposals (property_id, id, tool, title, input, asked, sentences, shown_hash, players, cost, reasons,
        proposed_by, proposed_for, client)
      values (${property!.id}, ${id}, ${operation.name}, ${operation.title}, ${input}::jsonb, ${asked}::jsonb,
        ${sentences}::text[], ${shownHash}, ${weight.players}, ${weight.cost}, ${weight.reasons}::text[],
        ${{ type: call.actor.type, id: call.actor.id }}::jsonb, ${personBehind(call.actor)},
        ${call.client ?? call.transport})
      returning expires_at)
    select to_json(expires_at) #>> '{}' as expires_at from proposed`;
  const { emit, enqueue, events, jobs } = pendingEffects();
  enqueue(EXPIRE_PROPOSAL, { proposalId: id }, { runAt: row!.expires_at });
  const { players, cost, reasons } = weight;
  const about = {
    id,
    status: "waiting",
    tool: operation.name,
    title: operation.title,
    players,
    cost,
    reasons,
  };
  emit("proposal.created", { ...about, shown_hash: shownHash, expires_at: row!.expires_at });
  const fault = waitingFault(id, row!.expires_at, weight);
  const answer = { status: fault.status, body: JSON.stringify(faultBody(fault)) };
  const diff = { tool: operation.name, shown_hash: shownHash, players, cost };
  const audited = auditRow(call, "create_proposal", { entity: "proposals", entityId: id, diff });
  last(
    sql`with ${join([
      ...effectParts(property!.id, events, jobs),
      ...(keyed ? [recordPart(keyed, operation.name, answer)] : []),
      auditPart(property!.id, [audited]),
    ])} select 1`,
  );
  running.effects.events.splice(0, Number.POSITIVE_INFINITY, ...events);
  return { ...answer, replayed: false, auditId: audited.id, fault };
}

/** The user who acts by this credential, or who has made it. */
function personBehind(actor: Actor): string | null {
  if (actor.type === "user") return actor.id;
  return actor.type === "api_key" ? (actor.createdBy ?? null) : null;
}

function waitingFault(id: string, until: string, { reasons }: Weight): Fault {
  return new Fault("approval_required", {
    message: `Not done: it waits for a person's approval until ${until}, as proposal ${id}. ${reasons.join(" ")}`,
    details: [
      { field: "proposal_id", message: id },
      { field: "expires_at", message: until },
    ],
  });
}

function oneByOne({ reasons }: Weight): string {
  return `A person must approve this, and several records at once cannot be proposed: change them one at a time. ${reasons.join(" ")}`;
}
