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

/** The providers of a delivery in their order, and the one that it uses now. */
export interface Routes<C extends SendingChannel> {
  all: readonly Route<C>[];
  current(): Route<C>;
  /** Leaves a provider that takes nothing. Answers whether another is used from now on. */
  leave(route: Route<C>): boolean;
  /** Notes how a provider does, when that has changed: one after another, so that the last word stands. */
  note(route: Route<C>, verdict: Verdict | null, outcomes: readonly SendOutcome[]): void;
  /** Resolves when everything is noted. */
  noted(): Promise<void>;
}

export function openRoutes<C extends SendingChannel>(
  { runtime, transact, log }: Pick<JobContext, "runtime" | "transact" | "log">,
  channel: C,
  candidates: readonly Candidate[],
  store: StoreMessages,
): Routes<C> {
  const all = candidates.map((candidate) => ({ candidate, sender: runtime.open(channel, candidate, store) }));
  let place = 0;
  let noting = Promise.resolve();
  return {
    all,
    current: () => all[place]!,
    leave: (route) => {
      // Another batch may have left it already.
      if (all[place] === route && place + 1 < all.length) place += 1;
      return all[place] !== route;
    },
    note: (route, verdict, outcomes) => {
      const { id, health } = route.candidate;
      // Messages that it took before the switch say nothing new.
      const isLate = verdict === "ok" && all[place] !== route;
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

// Given back before the vendor was asked, which says nothing of it.
export const NOT_TRIED = ["aborted", "not_started", "late"];

/** Judges a provider by what became of a batch; null when nothing was tried, or it is about messages alone. */
export function verdictOn(outcomes: readonly SendOutcome[]): Verdict | null {
  const tried = outcomes.filter((one) => one.status === "sent" || !NOT_TRIED.includes(one.code));
  if (tried.some((one) => one.status === "retry" && one.fatal)) return "refused";
  if (tried.some(({ status }) => status === "sent")) return "ok";
  return tried.length > 0 && tried.every(({ status }) => status !== "failed") ? "failing" : null;
}

/** Messages that another provider may take at once, because this one has surely not sent them. */
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
