import type { Sender } from "#runtime/channels/index.ts";
import type { SendingChannel, SendOutcome, StoreMessages } from "#runtime/channels/provider/channel.ts";
import type { Context } from "#runtime/operation/context.ts";
import type { JobContext } from "#runtime/operation/job.ts";
import type { Candidate } from "./choose.ts";

/** One of the providers that a delivery may use, with its settings applied. */
export interface Route<C extends SendingChannel = SendingChannel> {
  candidate: Candidate;
  sender: Sender<C>;
}

/** The providers of a delivery in their order, and the current one. */
export interface Routes<C extends SendingChannel> {
  all: readonly Route<C>[];
  current(): Route<C>;
  /** Leaves a provider that takes nothing. Answers whether another provider follows. */
  leave(route: Route<C>): boolean;
  /** Records changes of a provider's result, one after another, so that the last one stays. */
  note(route: Route<C>, verdict: Verdict | null, outcomes: readonly SendOutcome[]): void;
  /** Resolves when all results are recorded. */
  noted(): Promise<void>;
}

export function openRoutes<C extends SendingChannel>(
  { runtime, transact, log }: Pick<JobContext, "runtime" | "transact" | "log">,
  channel: C,
  candidates: readonly Candidate[],
  store: StoreMessages,
): Routes<C> {
  const all = candidates.map((candidate) => ({ candidate, sender: runtime.open(channel, candidate, store) }));
  let index = 0;
  let noting = Promise.resolve();
  return {
    all,
    current: () => all[index]!,
    leave: (route) => {
      // Another batch may have left it already.
      if (all[index] === route && index + 1 < all.length) index += 1;
      return all[index] !== route;
    },
    note: (route, verdict, outcomes) => {
      const { id, health } = route.candidate;
      // Messages that it took before the switch prove nothing now.
      const isLate = verdict === "ok" && all[index] !== route;
      if (id === null || verdict === null || verdict === health || isLate) return;
      route.candidate.health = verdict;
      noting = noting
        .then(() => transact((context) => writeHealth(context, id, verdict, outcomes)))
        .catch((error: unknown) => log.warn({ err: error, provider: id }, "health not noted"));
    },
    noted: () => noting,
  };
}

/** The verdict of a batch on its provider as a whole. */
export type Verdict = "ok" | "failing" | "refused";

// Returned before the vendor was called, so it proves nothing about the vendor.
export const NOT_TRIED = ["aborted", "not_started", "late"];

/** The verdict on a provider from a batch's outcomes; null when nothing was tried, or only messages were at fault. */
export function verdictOn(outcomes: readonly SendOutcome[]): Verdict | null {
  const tried = outcomes.filter((one) => one.status === "sent" || !NOT_TRIED.includes(one.code));
  if (tried.some((one) => one.status === "retry" && one.fatal)) return "refused";
  if (tried.some(({ status }) => status === "sent")) return "ok";
  return tried.length > 0 && tried.every(({ status }) => status !== "failed") ? "failing" : null;
}

/** Messages that another provider may take at once: this one has certainly not sent them. */
export function handedBack<O extends SendOutcome>(outcomes: readonly O[]): O[] {
  return outcomes.map((one) => (one.status === "retry" ? { ...one, fatal: true as const } : one));
}

async function writeHealth(
  { sql, property }: Context,
  id: string,
  verdict: Verdict,
  outcomes: readonly SendOutcome[],
): Promise<void> {
  const [trouble] = outcomes.flatMap((one) => (one.status === "sent" ? [] : [`${one.code}: ${one.message}`]));
  const words = verdict === "ok" ? null : trouble;
  await sql`
    update message_providers set health = ${verdict}, last_error = ${words?.slice(0, 500) ?? null},
      health_changed_at = now()
    where property_id = ${property.id} and id = ${id} and deleted_at is null`;
}
