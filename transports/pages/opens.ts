import type { Service } from "#runtime/invoke.ts";
import { writeAsService } from "#runtime/own-writes.ts";
import { recordEngagement } from "#tools/tracking/engagement.ts";
import type { OpenToken } from "#tools/tracking/tokens.ts";

const EVERY_MS = 500;
const MOST_AT_ONCE = 2_000;
/** What waits while the database is away; more is not counted. */
const MOST_WAITING = 100_000;
/** Of one message in one round: who asks again and again counts no more than that. */
const MOST_TIMES = 5;
/** Rounds for which a send that another transaction holds is tried again; one that is erased never comes free. */
const MOST_ROUNDS = 20;

interface Opened extends OpenToken {
  machine: boolean;
  times: number;
  rounds: number;
}

/**
 * Counts pictures that were fetched, in memory, and writes them twice a second: a campaign's openings come by the
 * thousand, and a crash may lose half a second of them.
 */
export function openCounter(service: Service) {
  let waiting = new Map<string, Opened>();
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  const add = (opened: Opened): void => {
    const key = `${opened.propertyId}${opened.sendId}${opened.machine}`;
    const known = waiting.get(key);
    if (!known && waiting.size >= MOST_WAITING) return;
    const times = Math.min(MOST_TIMES, opened.times + (known?.times ?? 0));
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
      for (let start = 0; start < opened.length; start += MOST_AT_ONCE) {
        const left = await record(service, propertyId, opened.slice(start, start + MOST_AT_ONCE));
        for (const one of left) add(one);
      }
    }
  };

  return {
    count: (token: OpenToken, machine: boolean): void => add({ ...token, machine, times: 1, rounds: 0 }),
    /** Writes what waits. */
    close: async (): Promise<void> => {
      clearTimeout(timer);
      writing = writing.then(write);
      await writing;
      clearTimeout(timer);
    },
  };
}

export type OpenCounter = ReturnType<typeof openCounter>;

/** Answers what has to be tried again. Waits for no lock: a campaign's delivery must never wait for this. */
async function record(service: Service, propertyId: string, opened: Opened[]): Promise<Opened[]> {
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
      .filter(({ sendId, rounds }) => !done.has(sendId) && rounds < MOST_ROUNDS)
      .map((one) => ({ ...one, rounds: one.rounds + 1 }));
  } catch (error) {
    service.log.warn({ err: error }, "opens not written; tried again");
    return opened;
  }
}
