import { isSqlState } from "#db/connection/error-code.ts";
import { assignments } from "#db/sql.ts";
import { Fault, one } from "#runtime/faults.ts";
import { storedNames, viewOf } from "#runtime/operation/columns.ts";
import type { Call, Context, Tenant } from "#runtime/operation/context.ts";
import type { StoredOf } from "#runtime/operation/table.ts";
import proposals, { type PROPOSAL_STATUSES } from "./proposals.table.ts";

/** A proposal as it is stored. */
export type Proposal = StoredOf<typeof proposals.columns>;
type Ended = Exclude<(typeof PROPOSAL_STATUSES)[number], "waiting">;

/** A proposal as operations answer it. */
export const ProposalView = viewOf(proposals);

/** The proposal. Throws `not_found`. */
export async function findProposal({ sql, property }: Tenant, id: string): Promise<Proposal> {
  const found = await sql<{ row: Proposal }[]>`
    select row_to_json(p) as row from (
      select ${storedNames(proposals.columns)} from proposals
      where property_id = ${property.id} and id = ${id}) p`;
  return one(found, "proposal", id).row;
}

/**
 * The waiting proposal, locked. Throws `not_found`, and `conflict` for one that is decided, that another person decides
 * at this moment, or whose time is over, which is recorded.
 */
export async function lockWaiting(context: Context, id: string): Promise<Proposal> {
  const { sql, property } = context;
  const locked = await sql<{ is_over: boolean }[]>`
    select expires_at <= now() as is_over from proposals
    where property_id = ${property.id} and id = ${id} for update`.catch((error: unknown) => {
    throw isSqlState(error, "55P03")
      ? new Fault("conflict", {
          message: "Another person decides on this proposal at this moment.",
          cause: error,
        })
      : error;
  });
  const { is_over } = one(locked, "proposal", id);
  const proposal = await findProposal(context, id);
  if (proposal.status !== "waiting") throw new Fault("conflict", { message: endedWords(proposal) });
  if (!is_over) return proposal;
  context.audit({ entity: "proposals", entityId: id, diff: { status: "expired" } });
  await end(context, proposal, { status: "expired", reason: EXPIRED });
  throw new Fault("conflict", { message: `It was not done. ${EXPIRED}`, commitWrites: true });
}

export const EXPIRED = "Nobody decided on it in time. Propose it anew.";

function endedWords({ status, decided_at, reason }: Proposal): string {
  const when = decided_at ? ` since ${decided_at}` : "";
  return `The proposal is ${status}${when}${reason ? `: ${reason.replace(/\.$/, "")}` : ""}.`;
}

/** Why a proposal is stale. */
export function changedWords(stale: readonly string[]): string {
  const changes = stale.map((one) => one.replace(/\.$/, "")).join(", ");
  return `It has changed since it was proposed: ${changes}`.slice(0, 1000);
}

interface Ending {
  status: Ended;
  reason: string | null;
  /** The user who decided. */
  by?: Call["actor"];
  result?: Proposal["result"];
}

/** Ends a waiting proposal, and tells of it. */
export async function end(
  { sql, property, emit }: Pick<Context, "sql" | "property" | "emit">,
  { id }: Pick<Proposal, "id">,
  { status, reason, by, result = null }: Ending,
): Promise<Proposal> {
  const decided_by = by?.id ?? null;
  const decided_by_email = by?.type === "user" ? by.email : null;
  const values = { status, reason, decided_by, decided_by_email, result };
  const ended = await sql<{ row: Proposal }[]>`
    with moment as materialized (select now() as at),
      ended as (
        update proposals p set ${assignments(values)}, decided_at = m.at, updated_at = m.at
        from moment m where p.property_id = ${property.id} and p.id = ${id} and p.status = 'waiting'
        returning p.id)
    select row_to_json(e) as row from ended e`;
  one(ended, "proposal", id);
  const proposal = await findProposal({ sql, property }, id);
  emit(`proposal.${status}`, eventOf(proposal));
  return proposal;
}

/** The deciding person's email, for the audit log: it says by itself who approved what. */
export function emailOf({ call: { actor } }: Pick<Context, "call">): { email?: string } {
  return actor.type === "user" ? { email: actor.email } : {};
}

/** Without the arguments, which may name players. */
function eventOf(proposal: Proposal) {
  return Object.fromEntries(EVENT_COLUMNS.map((name) => [name, proposal[name]]));
}

const EVENT_COLUMNS = [
  "id",
  "status",
  "tool",
  "title",
  "players",
  "cost",
  "reasons",
  "reason",
  "decided_by",
  "decided_at",
  "result",
  "shown_hash",
] as const satisfies (keyof Proposal)[];

/** The answered columns of a proposal. */
export function viewed({ asked: _, proposed_for: __, checked_at: ___, ...row }: Proposal) {
  return row;
}
