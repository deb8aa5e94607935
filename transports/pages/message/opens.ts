import type { Service } from "#runtime/funnel/service.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import { recordEngagement } from "#tools/tracking/engagement.ts";
import type { OpenToken } from "#tools/tracking/tokens.ts";

const EVERY_MS = 500;
const MAX_BATCH = 2_000;
/** Opens that wait while the database is away; the rest is not counted. */
const MAX_WAITING = 100_000;
/** Opens of one message in one round: a program that repeats its request counts no more. */
const MAX_TIMES = 5;
/** Rounds in which a locked send is tried again: an erased one is never free. */
const MAX_ROUNDS = 20;

interface Opened extends OpenToken {
  machine: boolean;
  times: number;
  rounds: number;
}

/**
 * Counts fetched pictures in memory and writes them twice a second, because opens come by the thousand. A crash may
 * lose half a second of them.
 */
export function openCounter(service: Service) {
  let waiting = new Map<string, Opened>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  const add = (opened: Opened): void => {
    const key = `${opened.propertyId}${opened.sendId}${opened.machine}`;
    const known = waiting.get(key);
    if (!known && waiting.size >= MAX_WAITING) return;
    const times = Math.min(MAX_TIMES, opened.times + (known?.times ?? 0));
    waiting.set(key, { ...opened, times });
    timer ??= setTimeout(() => {
      timer = undefined;
      writing = writing.then(write);
    }, EVERY_MS);
  };
  const write = async (): Promise<void> => {
    const due = waiting;
    waiting = new Map();
    for (const [propertyId, opened] of Map.groupBy(due.values(), (one) => one.propertyId)) {
      for (let start = 0; start < opened.length; start += MAX_BATCH) {
        const left = await writeOpens(service, propertyId, opened.slice(start, start + MAX_BATCH));
        for (const one of left) add(one);
      }
    }
  };

  return {
    count: (token: OpenToken, machine: boolean): void => add({ ...token, machine, times: 1, rounds: 0 }),
    /** Writes the waiting opens. */
    close: async (): Promise<void> => {
      clearTimeout(timer);
      writing = writing.then(write);
      await writing;
      clearTimeout(timer);
    },
  };
}

export type OpenCounter = ReturnType<typeof openCounter>;

/** Writes opens and returns those to try again. It waits for no lock, so that no delivery waits for it. */
async function writeOpens(service: Service, propertyId: string, opened: Opened[]): Promise<Opened[]> {
  try {
    const property = await service.directory.property(propertyId);
    if (property?.tracking !== "on") return [];
    const hits = opened.map(({ sendId, machine, times }) => ({
      kind: "opened" as const,
      sendId,
      machine,
      times,
    }));
    const done = await writeAsService(service, property, (context) =>
      recordEngagement(context, hits, { skipLocked: true }),
    );
    return opened
      .filter(({ sendId, rounds }) => !done.has(sendId) && rounds < MAX_ROUNDS)
      .map((one) => ({ ...one, rounds: one.rounds + 1 }));
  } catch (error) {
    service.log.warn({ err: error }, "opens not written; tried again");
    return opened;
  }
}
