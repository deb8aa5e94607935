import { withDeadline } from "#db/connection/open.ts";

/** Concurrent exports in one process: a slow receiver holds a connection, and requests must not wait for it. */
export const EXPORT_SLOTS = 4;
/** Concurrent exports of one property, which must leave slots to the others. */
const SLOTS_OF_ONE = 2;
/** Milliseconds. */
const WAIT_DEADLINE = 5_000;

export interface ExportSlots {
  /** Waits for a free slot; answers a function that releases it. Throws DeadlineExceeded. */
  take(property: string): Promise<() => void>;
}

export function exportSlots(): ExportSlots {
  const taken: string[] = [];
  const waiting: { property: string; enter(): void }[] = [];
  const isFree = (property: string) =>
    taken.length < EXPORT_SLOTS && taken.filter((one) => one === property).length < SLOTS_OF_ONE;
  const admit = () => {
    const next = waiting.find(({ property }) => isFree(property));
    if (!next) return;
    taken.push(next.property);
    leave(next);
    next.enter();
  };
  const leave = (one: (typeof waiting)[number]) => {
    const index = waiting.indexOf(one);
    if (index >= 0) waiting.splice(index, 1);
  };
  return {
    take: async (property) => {
      const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
      const one = { property, enter };
      waiting.push(one);
      admit();
      await withDeadline(entered, WAIT_DEADLINE).finally(() => leave(one));
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        taken.splice(taken.indexOf(property), 1);
        admit();
      };
    },
  };
}
