import { Fault } from "#runtime/faults.ts";
import type { AskedQuestion, Question } from "#runtime/operation/context.ts";
import { canonicalHash } from "./audit.ts";
import type { Running } from "./running.ts";
import type { Outcome } from "./service.ts";

/** The handler's questions, in words where somebody reads them. Throws where an agent has confirmed another state. */
export async function askedBy({ operation, call, effects }: Running): Promise<Outcome["asked"]> {
  const { questions, confirmed } = effects;
  const isTold = call.mustAsk === true || (call.transport === "mcp" && operation.effect === "read");
  if (!isTold && confirmed === undefined) return undefined;
  const told: { state: string; sentences: string[] }[] = [];
  for (const { state, sentences } of questions) {
    const said = isTold || state === undefined ? await sentences() : [];
    told.push({ state: state ?? said.join("\n"), sentences: said });
  }
  const state = canonicalHash(told.map((one) => one.state)).toString("hex");
  if (confirmed !== undefined && confirmed !== (told.length > 0 ? state : null)) {
    throw new Fault("precondition_failed", { message: "It has changed since that preview." });
  }
  return told.length > 0 ? { state, sentences: told.flatMap(({ sentences }) => sentences) } : undefined;
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
    const said = await question.sentences();
    sentences.push(...said);
    asked.push({ facts: await factsOf(question, said), audience: question.reach?.audience ?? null });
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
