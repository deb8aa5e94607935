import { raw } from "#db/sql.ts";
import { counted } from "#runtime/counted.ts";
import { toFault } from "#runtime/faults.ts";
import type {
  AskedQuestion,
  CarriedOut,
  Context,
  ProposedCall,
  ReadBack,
  TriedCall,
} from "#runtime/operation/context.ts";
import { parseInput } from "#runtime/operation/input.ts";
import { isGrave, type Operation } from "#runtime/operation/operation.ts";
import { hasOutgrown, type Property } from "#runtime/operation/property.ts";
import { goneProposer } from "./proposer.ts";
import { conceals, proposedQuestions } from "./review.ts";
import { type Handled, noEffects, type Running, without } from "./transaction.ts";

type Handle = (running: Running) => Promise<Handled>;

/** The ways by which a deciding operation runs proposed calls in its own transaction. */
export function carrying(running: Running, handle: Handle): Required<Pick<Context, "carryOut" | "tryOut">> {
  return {
    carryOut: (proposed) => carryOut(running, handle, proposed),
    tryOut: (proposed, readBack) => tryOut(running, handle, { ...proposed, readBack }),
  };
}

/** Does the proposed call, if it is still the one that was proposed. Otherwise nothing of it stays. */
async function carryOut(running: Running, handle: Handle, proposed: ProposedCall): Promise<CarriedOut> {
  const { sql, effects } = running;
  await sql`savepoint carried_out`;
  const done = await attempt(running, handle, proposed, proposed.input);
  if (done.stale.length > 0) {
    await sql`rollback to savepoint carried_out`;
    return { stale: done.stale };
  }
  const { inner, handled } = done;
  effects.events.push(...inner!.effects.events);
  effects.jobs.push(...inner!.effects.jobs);
  effects.warnings.push(...inner!.effects.warnings);
  effects.carried.push(...handled!.audited);
  const { entity = null, entity_id = null } = handled!.audited[0] ?? {};
  return { result: handled!.result, subject: { entity, entity_id } };
}

/** The proposed call as a dry run shows it, and the reasons why it is another one by now. */
async function tryOut(
  running: Running,
  handle: Handle,
  { readBack, ...proposed }: ProposedCall & { readBack: ReadBack | undefined },
): Promise<TriedCall> {
  const { sql, operation } = running;
  const target = operation.others!(proposed.tool);
  await sql`savepoint tried_out`;
  const input = { ...proposed.input, ...(target && isGrave(target) && { dry_run: true }) };
  const { stale, sentences, handled, inner } = await attempt(running, handle, proposed, input);
  const seen = readBack && handled ? await seenBy(running, handle, readBack) : null;
  await sql`rollback to savepoint tried_out`;
  const isShown = handled && target && inner && !conceals(inner);
  const result = isShown ? without(handled.result, target.secrets) : null;
  return { result, seen, sentences, stale };
}

/** The answer of a reading operation after the tried call, in its transaction. */
async function seenBy(running: Running, handle: Handle, { tool, input }: ReadBack): Promise<unknown> {
  const target = running.operation.others!(tool);
  if (target?.effect !== "read") throw new Error(`${tool} is no operation that only reads`);
  const { result } = await handle(await innerOf(running, target, input));
  return result;
}

interface Attempt {
  stale: string[];
  sentences: string[];
  inner?: Running;
  handled?: Handled;
}

async function attempt(
  running: Running,
  handle: Handle,
  { tool, asked, proposed_by }: ProposedCall,
  input: Record<string, unknown>,
): Promise<Attempt> {
  const target = running.operation.others!(tool);
  if (!target) return { stale: [`the operation ${tool}, which is not offered any more`], sentences: [] };
  const gone = await goneProposer(running, proposed_by);
  if (gone !== null) return { stale: [gone], sentences: [] };
  try {
    const shown = asked.map(({ audience }) => audience);
    const inner = await innerOf(running, target, input, shown);
    const handled = await handle(inner);
    const now = await proposedQuestions(inner.effects.questions);
    return {
      stale: changesOf(running.property!, asked, now.asked),
      sentences: now.sentences,
      inner,
      handled,
    };
  } catch (error) {
    const fault = toFault(error);
    if (fault.status >= 500) throw error;
    return { stale: [fault.message], sentences: [] };
  }
}

/** The proposed call inside this one's transaction, with effects of its own. */
async function innerOf(
  running: Running,
  target: Operation,
  input: Record<string, unknown>,
  shown: readonly (number | null)[] = [],
): Promise<Running> {
  const { idempotency: _, confirmation: __, ifMatch: ___, ...call } = running.call;
  const { table, verb } = target.crud ?? {};
  const lock = verb === "create" || verb === "update" ? table?.lock?.(running.property!.id) : undefined;
  if (lock) await running.sql`${raw(lock)}`;
  return {
    ...running,
    operation: target,
    call: { ...call, review: "approved" },
    inputs: [parseInput(target, input)],
    effects: { ...noEffects(), shown },
    keyed: null,
  };
}

/** The names of all that is not as it was proposed. */
function changesOf(
  property: Property,
  before: readonly AskedQuestion[],
  now: readonly AskedQuestion[],
): string[] {
  if (before.length !== now.length) return ["its preview, which asks about something else now"];
  const changes = before.flatMap(({ facts, audience }, index) => {
    const present = now[index]!;
    const names = new Set([...Object.keys(facts), ...Object.keys(present.facts)]);
    const changed = [...names].filter((name) => facts[name] !== present.facts[name]);
    const hasGrown =
      audience !== null && present.audience !== null && hasOutgrown(property, audience, present.audience);
    return hasGrown
      ? [
          ...changed,
          `the audience, which has grown from ${audience} to ${counted(present.audience!, "player")}`,
        ]
      : changed;
  });
  return [...new Set(changes)];
}
