import type { Sql } from "#db/database.ts";
import { Fault } from "#runtime/faults.ts";
import type { AskedQuestion, Question, Reach } from "#runtime/operation/context.ts";
import { hasOutgrown, type Property } from "#runtime/operation/property.ts";
import { oneLine } from "#runtime/visible-text.ts";
import { canonicalHash } from "./audit.ts";
import type { Outcome } from "./service.ts";
import { type Running, tellsQuestions } from "./transaction.ts";

/** The reach of a call that a person must approve first, and the reasons why. Null: unknown, or without a bound. */
export interface Weight {
  players: number | null;
  cost: number | null;
  reasons: string[];
}

/**
 * The weight of a weighed call that needs approval; null for one that does not. The reach of all unapproved calls of 24
 * hours counts together, and calls of one property are weighed one after another. The reach of a call that goes on is
 * recorded.
 */
export async function weigh(running: Running, isTried: boolean): Promise<Weight | null> {
  const { operation, effects, property, sql } = running;
  const reaches = effects.questions.flatMap(({ reach }) => reach ?? []);
  if (reaches.length === 0 && operation.effect !== "contact") return null;
  const { approval_over_players, approval_over_cost, id } = property!;
  const players = reaches.length === 0 ? null : await sum(reaches, (reach) => reach.players());
  // The cost needs a preview of each message.
  const isPriced = approval_over_cost !== null && reaches.length > 0;
  const cost = isPriced ? await sum(reaches, (reach) => reach.cost()) : null;
  const used = await usedIn24Hours(sql, id);
  const reasons = [
    ...exceeding(approval_over_players, players, used.players, PLAYERS),
    ...exceeding(approval_over_cost, cost, used.cost, COST),
  ];
  if (reasons.length > 0) return { players, cost, reasons };
  if (!isTried) {
    await sql`
      delete from unapproved_contacts
      where property_id = ${id} and created_at <= now() - interval '24 hours'`;
    await sql`
      insert into unapproved_contacts (property_id, tool, players, cost)
      values (${id}, ${operation.name}, ${players ?? 0}, ${cost ?? 0})`;
  }
  return null;
}

async function sum(
  reaches: readonly Reach[],
  read: (reach: Reach) => Promise<number | null> | number | null,
): Promise<number | null> {
  let total = 0;
  for (const reach of reaches) {
    const one = await read(reach);
    if (one === null) return null;
    total += one;
  }
  return total;
}

interface Used {
  players: number;
  cost: number;
}

async function usedIn24Hours(sql: Sql, propertyId: string): Promise<Used> {
  // A concurrent call would not see this one's reach.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`unapproved contacts ${propertyId}`}, 0))`;
  const [row] = await sql<Used[]>`
    select coalesce(sum(players), 0)::double precision as players, coalesce(sum(cost), 0)::double precision as cost
    from unapproved_contacts
    where property_id = ${propertyId} and created_at > now() - interval '24 hours'`;
  return row!;
}

interface Words {
  known: (amount: string) => string;
  unknown: string;
}
const PLAYERS: Words = {
  // The whole audience counts, and the gate may leave some of it out.
  known: (amount) => `It reaches up to ${amount} player${amount === "1" ? "" : "s"}`,
  unknown: "The number of its players is not known",
};
const COST: Words = { known: (amount) => `It costs ${amount}`, unknown: "Its cost is not known" };

function exceeding(most: number | null, amount: number | null, used: number, words: Words): string[] {
  if (most === null) return [];
  const limit = `Above ${most.toLocaleString("en-US")} in 24 hours a person must approve.`;
  if (amount === null) return [`${words.unknown}. ${limit}`];
  if (amount === 0 || used + amount <= most) return [];
  const before = used === 0 ? "" : `, after ${used.toLocaleString("en-US")} in the last 24 hours`;
  return [`${words.known(amount.toLocaleString("en-US"))}${before}. ${limit}`];
}

/** The handler's questions, in words where somebody reads them. Throws where an agent has confirmed another state. */
export async function askedBy({ operation, call, effects, property }: Running): Promise<Outcome["asked"]> {
  const { questions, confirmed } = effects;
  const isTold = tellsQuestions({ operation, call });
  const told: { state: string; sentences: string[] }[] = [];
  for (const { state, sentences } of questions) {
    const said = isTold || state === undefined ? (await sentences()).map(oneLine) : [];
    told.push({ state: state ?? said.join("\n"), sentences: said });
  }
  const subject = canonicalHash(told.map((one) => one.state)).toString("hex");
  const audiences = questions.map(({ audience }) => audience ?? null);
  const state = [subject, ...audiences].join(" ");
  if (confirmed !== undefined && !isConfirmed(property, confirmed, questions.length > 0 ? state : null)) {
    throw new Fault("precondition_failed", { message: "It has changed since that preview." });
  }
  return told.length > 0 ? { state, sentences: told.flatMap(({ sentences }) => sentences) } : undefined;
}

/** Whether the present state is the one that a person has agreed to, with no audience that has outgrown it. */
function isConfirmed(property: Property | null, confirmed: string | null, present: string | null): boolean {
  if (confirmed === null || present === null) return confirmed === present;
  const [subject] = present.split(" ");
  const [before, now] = [audiencesIn(confirmed), audiencesIn(present)];
  return (
    confirmed.split(" ")[0] === subject &&
    before.length === now.length &&
    before.every((shown, index) => {
      const players = now[index]!;
      if (shown === null || players === null) return shown === players;
      return property !== null && !hasOutgrown(property, shown, players);
    })
  );
}

/** The audiences that a preview has shown, by the number of its question. */
export function audiencesIn(state: string | null): (number | null)[] {
  const [, ...audiences] = state?.split(" ") ?? [];
  return audiences.map((audience) => (audience === "" ? null : Number(audience)));
}

/** Whether nobody may see the result before it counts. */
export function conceals({ effects }: Pick<Running, "effects">): boolean {
  return effects.questions.some((question) => question.conceals === true);
}

/** The questions as a proposal keeps them, and in words. */
export async function proposedQuestions(
  questions: readonly Question[],
): Promise<{ asked: AskedQuestion[]; sentences: string[] }> {
  const asked: AskedQuestion[] = [];
  const sentences: string[] = [];
  for (const question of questions) {
    const said = (await question.sentences()).map(oneLine);
    sentences.push(...said);
    asked.push({ facts: await factsOf(question, said), audience: question.audience ?? null });
  }
  return { asked, sentences };
}

/** A question without facts is about its state, or else about its sentences. */
async function factsOf(
  { facts, state }: Question,
  sentences: readonly string[],
): Promise<AskedQuestion["facts"]> {
  if (facts) return facts();
  const hash = canonicalHash({ subject: state ?? sentences }).toString("hex");
  return { "its preview": hash };
}
