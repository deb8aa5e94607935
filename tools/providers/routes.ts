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
  note(route: Route<C>, verdict: ProviderVerdict | null, outcomes: readonly SendOutcome[]): void;
  /** Resolves when all results are recorded. */
  noted(): Promise<void>;
}

export function openRoutes<C extends SendingChannel>(
  { runtime, transact, log }: Pick<JobContext, "runtime" | "transact" | "log">,
  channel: C,
  candidates: readonly Candidate[],
  store: StoreMessages,
): Routes<C> {
  const note = healthNoter({ runtime, transact, log }, channel);
  const all = restedFirst(runtime, candidates).map((candidate) => {
    return { candidate, sender: runtime.open(channel, candidate, store) };
  });
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
      // Messages that it took before the switch prove nothing now.
      const isLate = verdict === "ok" && all[index] !== route;
      if (verdict === null || isLate) return;
      rest(runtime, route.candidate, verdict);
      noting = noting
        .then(() => note(route.candidate, verdict, outcomes))
        .catch((error: unknown) =>
          log.warn({ err: error, provider: route.candidate.id }, "health not noted"),
        );
    },
    noted: () => noting,
  };
}

/** The verdict of a batch on its provider as a whole. */
export type ProviderVerdict = "ok" | "failing" | "refused";

// Returned before the vendor was called, so it proves nothing about the vendor.
export const NOT_TRIED = ["aborted", "not_started", "late"];

/** The verdict on a provider from a batch's outcomes; null when nothing was tried, or only messages were at fault. */
export function verdictOn(outcomes: readonly SendOutcome[]): ProviderVerdict | null {
  const tried = outcomes.filter((one) => one.status === "sent" || !NOT_TRIED.includes(one.code));
  if (tried.some((one) => one.status === "retry" && one.fatal)) return "refused";
  if (tried.some(({ status }) => status === "sent" || status === "skipped")) return "ok";
  return tried.length > 0 && tried.every(({ status }) => status !== "failed") ? "failing" : null;
}

/** Messages that another provider may take at once: this one has certainly not sent them. */
export function handedBack<O extends SendOutcome>(outcomes: readonly O[]): O[] {
  return outcomes.map((one) => (one.status === "retry" ? { ...one, fatal: true as const } : one));
}

/** A provider that is down gets nothing for this time, while another one takes the messages. */
const REST_MS = 60_000;

/** By its id, performance.now() until which a failing provider rests in this process. */
const resting = new WeakMap<JobContext["runtime"], Map<string, number>>();

/**
 * A provider that is silent would use up the whole shift before the next one is asked, and would keep messages whose
 * outcome nobody knows. One that refuses us comes before it: its refusal is quick, and sends nothing.
 */
function restedFirst(runtime: JobContext["runtime"], candidates: readonly Candidate[]): Candidate[] {
  const rests = resting.get(runtime);
  const isResting = ({ id }: Candidate) => id !== null && (rests?.get(id) ?? 0) > performance.now();
  return [...candidates.filter((one) => !isResting(one)), ...candidates.filter(isResting)];
}

function rest(runtime: JobContext["runtime"], { id }: Candidate, verdict: ProviderVerdict): void {
  if (id === null) return;
  const rests = resting.get(runtime) ?? new Map<string, number>();
  resting.set(runtime, rests);
  if (verdict === "failing") rests.set(id, performance.now() + REST_MS);
  else rests.delete(id);
}

/** How the operator's own providers did at last in this process: they have no record. */
const ownHealth = new WeakMap<JobContext["runtime"], Map<SendingChannel, ProviderVerdict>>();

type Noter = (
  candidate: Candidate,
  verdict: ProviderVerdict,
  outcomes: readonly SendOutcome[],
) => Promise<void>;

/** Tells of a change: in the provider's record and by an event, in the log, and of the operator's own in the log alone. */
function healthNoter(
  { runtime, transact, log }: Pick<JobContext, "runtime" | "transact" | "log">,
  channel: SendingChannel,
): Noter {
  const tell = (about: object, verdict: ProviderVerdict, was: string, code: string | undefined) => {
    const level = verdict === "ok" && was === "unknown" ? "info" : "warn";
    log[level](
      { ...about, channel, was, health: verdict, ...(code && { code }) },
      "a provider's health has changed",
    );
  };
  return async (candidate, verdict, outcomes) => {
    const { id, name } = candidate;
    const [trouble] = verdict === "ok" ? [] : outcomes.filter((one) => one.status !== "sent");
    if (id === null) {
      const own = ownHealth.get(runtime) ?? new Map<SendingChannel, ProviderVerdict>();
      const was = own.get(channel) ?? "unknown";
      ownHealth.set(runtime, own.set(channel, verdict));
      if (was !== verdict) tell({ kind: name }, verdict, was, trouble?.code);
      return;
    }
    if (candidate.health === verdict) return;
    candidate.health = verdict;
    const was = await transact((context) => writeHealth(context, id, verdict, trouble));
    if (was !== null) tell({ provider: id, kind: name }, verdict, was, trouble?.code);
  };
}

type Trouble = Exclude<SendOutcome, { status: "sent" }>;

/** Answers the health before; null where another process has noted the change already. */
async function writeHealth(
  { sql, property, emit }: Context,
  id: string,
  verdict: ProviderVerdict,
  trouble: Trouble | undefined,
): Promise<string | null> {
  const words = trouble ? `${trouble.code}: ${trouble.message}`.slice(0, 500) : null;
  const [changed] = await sql<{ was: string; name: string; channel: string; kind: string }[]>`
    with before as materialized (
      select id, health from message_providers
      where property_id = ${property.id} and id = ${id} and deleted_at is null and health <> ${verdict}
      for no key update
    )
    update message_providers p set health = ${verdict}, last_error = ${words}, health_changed_at = now()
    from before b where p.property_id = ${property.id} and p.id = b.id
    returning b.health as was, p.name, p.channel, p.kind`;
  if (!changed) return null;
  const { was, ...about } = changed;
  const record = { id, ...about, health: verdict, last_error: words };
  if (verdict !== "ok") emit("provider.failing", record);
  else if (was !== "unknown") emit("provider.recovered", record);
  return was;
}
