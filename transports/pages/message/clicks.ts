import { withDeadline } from "#db/connection/open.ts";
import type { Service } from "#runtime/funnel/service.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import type { Property } from "#runtime/operation/property.ts";
import { type Engagement, recordEngagement } from "#tools/tracking/engagement.ts";

/** Milliseconds that a person waits for a link at most. Behind them the click may still be counted. */
const PATIENCE = 4_000;

interface Waiting {
  click: Engagement;
  resolve(): void;
  reject(error: unknown): void;
}

/** Resolves once the click is committed. */
export type RecordClick = (property: Property, click: Engagement) => Promise<void>;

/**
 * Writes clicks. Those that arrive while a write of their property runs share the next one: one by one, clicks in one
 * message would wait for one another's row.
 */
export function clickRecorder(service: Service): RecordClick {
  /** The clicks behind the running write of each property. */
  const waiting = new Map<string, Waiting[]>();

  const write = (property: Property, group: readonly Waiting[]) =>
    writeAsService(service, property, (context) =>
      recordEngagement(
        context,
        group.map(({ click }) => click),
      ),
    );
  const writeGroup = async (property: Property, group: readonly Waiting[]): Promise<void> => {
    try {
      await write(property, group);
      for (const { resolve } of group) resolve();
    } catch (error) {
      // Another transaction may hold the row of one of the messages.
      if (group.length === 1) group[0]!.reject(error);
      else for (const one of group) void write(property, [one]).then(() => one.resolve(), one.reject);
    }
  };
  const writeAll = async (property: Property, group: Waiting[]): Promise<void> => {
    for (let next = group; next.length > 0; next = waiting.get(property.id)!) {
      waiting.set(property.id, []);
      await writeGroup(property, next);
    }
    waiting.delete(property.id);
  };

  return (property, click) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const behind = waiting.get(property.id);
    const one = { click, resolve, reject };
    if (behind) behind.push(one);
    else void writeAll(property, [one]);
    return withDeadline(promise, PATIENCE);
  };
}
