import { setTimeout as pause } from "node:timers/promises";
import { toFault } from "#runtime/faults.ts";
import type { Arguments } from "./arguments.ts";
import type { Screen } from "./screen.ts";

// biome-ignore lint/suspicious/noExplicitAny: the result of any operation
type Result = any;

/** Asks the service, as the command itself does. */
export type Ask = (operation: string, input: Record<string, unknown>) => Promise<Result>;

interface State {
  done: number;
  total: number | null;
  /** The work has ended; the result is that of the command, as it is now. */
  result: Result | null;
  failed?: boolean;
}

interface Work {
  label: string;
  look(ask: Ask, started: Result, input: Record<string, unknown>): Promise<State>;
}

const UNDER_WAY = ["queued", "processing", "sending"];
/** A campaign that was held or stopped has not reached everybody: a person stopped it, or the service. */
const UNDONE = ["failed", "paused", "cancelled"];

const job = (label: string, operation: string): Work => ({
  label,
  look: async (ask, { id }) => {
    const now = await ask(operation, { id });
    const result = UNDER_WAY.includes(now.status) ? null : now;
    return { done: now.processed ?? 0, total: now.total, result, failed: now.status === "failed" };
  },
});

const SENDING: Work = {
  label: "Sending",
  look: async (ask, _, { campaignId }) => {
    const stats = await ask("campaign_stats", { campaignId });
    const { audience, pending, status } = stats;
    const state = { done: audience - pending, total: audience, failed: UNDONE.includes(status) };
    if (UNDER_WAY.includes(status)) return { ...state, result: null };
    const campaign = await ask("get_campaign", { id: campaignId });
    return { ...state, result: { success: true, campaign: { ...campaign, stats } } };
  },
};

/** The work that goes on after the answer, by the operation that starts it. */
const WORKS: Readonly<Record<string, Work>> = {
  create_import_job: job("Importing", "get_import_job"),
  create_validation_job: job("Validating", "get_validation_job"),
  send_campaign: SENDING,
  send_sms_campaign: SENDING,
  resume_campaign: SENDING,
};

export function canWait(operation: string): boolean {
  return Object.hasOwn(WORKS, operation);
}

/** Waits for the work that a command has started. Returns its result as it is then, and whether it failed. */
export async function waitFor(
  operation: string,
  started: Result,
  { input, url }: Arguments,
  { ask, screen }: { ask: Ask; screen: Screen },
): Promise<{ result: Result; failed: boolean }> {
  const { label, look } = WORKS[operation]!;
  const bar = screen.bar(label);
  // A new key has a hundred requests a minute, and every look takes one or two.
  const interval = url ? 2_000 : 250;
  let most = 0;
  try {
    for (;;) {
      const { done, total, result, failed = false } = await patiently(() => look(ask, started, input));
      // A campaign's counts are kept for a moment, and counted anew in between.
      most = Math.max(most, done);
      bar.show(most, total);
      if (result !== null) return { result, failed };
      await pause(interval);
    }
  } finally {
    bar.clear();
  }
}

/** Looks again where the service was busy: the work goes on meanwhile. */
async function patiently(look: () => Promise<State>): Promise<State> {
  try {
    return await look();
  } catch (error) {
    const { code, retryAfter } = toFault(error);
    if (code !== "rate_limited") throw error;
    await pause((retryAfter ?? 1) * 1000);
    return look();
  }
}
