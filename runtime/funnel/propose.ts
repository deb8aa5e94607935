import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { Fault, faultBody } from "#runtime/faults.ts";
import type { Actor, AskedQuestion, Call } from "#runtime/operation/context.ts";
import { type AuditRow, auditRow, canonicalHash } from "./audit.ts";
import { type PendingEffects, pendingEffects } from "./outbox.ts";
import { proposedQuestions, type Weight } from "./review.ts";
import type { Outcome } from "./service.ts";
import { type Running, writeLast } from "./transaction.ts";

/** The job that ends a proposal on which nobody has decided. */
const EXPIRE_PROPOSAL = { name: "expire_proposal", attempts: 5, input: z.object({ proposalId: z.uuid() }) };

/** The job that tells the people who may approve. */
const SEND_APPROVAL_NOTICE = { name: "send_approval_notice", attempts: 5, input: z.object({}) };

/** More by one credential are a fault of its program, and no person reads them. */
const MOST_WAITING = 100;

/**
 * Keeps the call as a proposal instead of doing it, in the call's own transaction: its confirmation is used, and its
 * Idempotency-Key has the refusal as its answer. The same call again is the same proposal.
 */
export async function propose(running: Running, weight: Weight): Promise<Outcome> {
  const { sql, operation, call, property, inputs, many, choose, effects } = running;
  if (many || choose || operation.merges) throw new Fault("approval_required", { message: oneByOne(weight) });
  const { asked, sentences } = await proposedQuestions(effects.questions);
  await sql`rollback to savepoint untouched`;
  const shown = { tool: operation.name, input: inputs[0]!, asked, sentences };
  const draft: Draft = { ...shown, ...weight, shown_hash: canonicalHash(shown).toString("hex") };
  const waiting = await waitingLike(running, draft);
  const proposal = waiting ?? (await store(running, draft));
  const fault = waitingFault(proposal, weight);
  const answer = { status: fault.status, body: JSON.stringify(faultBody(fault)) };
  const pending = waiting
    ? pendingEffects()
    : effectsOf(proposal, draft, { title: operation.title, propertyId: property!.id });
  const audited = waiting ? [] : [auditOf(call, proposal, draft)];
  writeLast(running, { ...pending, answer, audited });
  return { ...answer, replayed: false, ...(audited[0] && { auditId: audited[0].id }), fault };
}

interface Draft extends Weight {
  tool: string;
  input: Record<string, unknown>;
  asked: AskedQuestion[];
  sentences: string[];
  shown_hash: string;
}

interface Stored {
  id: string;
  expires_at: string;
}

/** The credential's waiting proposal of the same call with the same preview. Throws where too many wait. */
async function waitingLike({ sql, property, call }: Running, draft: Draft): Promise<Stored | null> {
  const by = { type: call.actor.type, id: call.actor.id };
  const waiting = await sql<(Stored & { shown_hash: string })[]>`
    select id, to_json(expires_at) #>> '{}' as expires_at, shown_hash from proposals
    where property_id = ${property!.id} and status = 'waiting' and expires_at > now() and proposed_by = ${by}::jsonb
    order by created_at limit ${MOST_WAITING}`;
  const same = waiting.find(({ shown_hash }) => shown_hash === draft.shown_hash);
  if (same) return same;
  if (waiting.length < MOST_WAITING) return null;
  throw new Fault("conflict", {
    message: `${MOST_WAITING} proposals of this credential wait already. Withdraw some with withdraw_proposal, or wait for a person.`,
  });
}

async function store({ sql, property, operation, call }: Running, draft: Draft): Promise<Stored> {
  const id = randomUUIDv7();
  const { input, asked, sentences, shown_hash, players, cost, reasons } = draft;
  const by = { type: call.actor.type, id: call.actor.id };
  const [row] = await sql<{ expires_at: string }[]>`
    with proposed as (
      insert into proposals (property_id, id, tool, title, input, asked, sentences, shown_hash, players, cost, reasons,
        proposed_by, proposed_for, client)
      values (${property!.id}, ${id}, ${operation.name}, ${operation.title}, ${input}::jsonb, ${asked}::jsonb,
        ${sentences}::text[], ${shown_hash}, ${players}, ${cost}, ${reasons}::text[], ${by}::jsonb,
        ${personBehind(call.actor)}, ${call.client ?? call.transport})
      returning expires_at)
    select to_json(expires_at) #>> '{}' as expires_at from proposed`;
  return { id, expires_at: row!.expires_at };
}

/** The event of a new proposal, the job that ends it in time, and the one that tells people. */
function effectsOf(
  { id, expires_at }: Stored,
  draft: Draft,
  { title, propertyId }: { title: string; propertyId: string },
): PendingEffects {
  const effects = pendingEffects();
  const { tool, players, cost, reasons, shown_hash } = draft;
  effects.enqueue(EXPIRE_PROPOSAL, { proposalId: id }, { runAt: expires_at });
  effects.enqueue(SEND_APPROVAL_NOTICE, {}, { dedupe: propertyId });
  const about = { id, status: "waiting", tool, title, players, cost, reasons, shown_hash, expires_at };
  effects.emit("proposal.created", about);
  return effects;
}

function auditOf(call: Call, { id }: Stored, { tool, shown_hash, players, cost }: Draft): AuditRow {
  const diff = { tool, shown_hash, players, cost };
  return auditRow(call, "create_proposal", { entity: "proposals", entityId: id, diff });
}

/** The user who acts by this credential, or who has made it. */
function personBehind(actor: Actor): string | null {
  if (actor.type === "user") return actor.id;
  return actor.type === "api_key" ? (actor.createdBy ?? null) : null;
}

function waitingFault({ id, expires_at: until }: Stored, { reasons }: Weight): Fault {
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
