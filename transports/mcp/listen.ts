import { CLIENT_CAPABILITIES_META_KEY, type Server } from "@modelcontextprotocol/server";
import { z } from "zod";
import { UUID } from "#db/text.ts";
import { Fault, invalid } from "#runtime/faults.ts";
import { resolveProperty } from "#runtime/funnel/access.ts";
import { versionsOf } from "#tools/jobs/versions.ts";
import type { Machine } from "#transports/mcp/listing/visible-tools.ts";
import { readerOf } from "./resources/resources.ts";
import type { Exchange } from "./server.ts";
import { openStream } from "./subscriptions/streams.ts";
import { TASKS } from "./subscriptions/tasks.ts";
import { idsOf, type Listener, openWatch } from "./subscriptions/watch.ts";

const MOST_RESOURCES = 100;
const MOST_STREAMS = 1_000;
const MOST_STREAMS_EACH = 10;
const RETRY_SECONDS = 5;

export interface Listening {
  /** Answers one `subscriptions/listen`. Throws faults. */
  open(exchange: Exchange, request: Request, body: unknown): Promise<Response>;
  /** Ends every stream with its final answer, and opens no new one. */
  close(): Promise<void>;
}

/** The open streams of this process. */
export function openListening(machine: Machine, makeServer: (exchange: Exchange) => Server): Listening {
  const { log } = machine.service;
  const listeners = new Set<Listener>();
  const watch = openWatch(machine, listeners);
  const seats = streamSlots();
  let closed = false;
  const onerror = (error: Error) => log.debug({ err: error }, "mcp stream");

  const open = async (exchange: Exchange, request: Request, body: unknown, release: () => void) => {
    const chosen = await choose(machine, exchange, body);
    let listener: Listener | null = null;
    let over = false;
    const onEnd = () => {
      over = true;
      release();
      if (listener) listeners.delete(listener);
    };
    const stream = await openStream({
      ...{ request, body: chosen.body, onerror, onEnd },
      makeServer: () => makeServer(exchange),
    });
    if (!stream.bus) release();
    else if (closed) await stream.end();
    else if (!over) {
      const { call, surface } = exchange;
      const { bus, end } = stream;
      listener = { call, request, surface, bus, end, propertyId: chosen.propertyId, seen: chosen.seen };
      listeners.add(listener);
      watch.wake();
    }
    return stream.response;
  };

  return {
    open: async (exchange, request, body) => {
      if (closed) throw new Fault("unavailable", { message: "The service is stopping." });
      const { type, id } = exchange.call.actor;
      const release = seats.take(`${type} ${id}`);
      try {
        return await open(exchange, request, body, release);
      } catch (error) {
        release();
        throw error;
      }
    },
    close: async () => {
      closed = true;
      for (const { end } of [...listeners]) await end();
      await watch.stop();
    },
  };
}

/** Limits open streams, in total and for each caller. */
function streamSlots() {
  const taken = new Map<string, number>();
  let all = 0;
  return {
    /** Takes a slot, and answers the function that frees it. Throws when none is free. */
    take: (who: string): (() => void) => {
      const mine = taken.get(who) ?? 0;
      if (mine >= MOST_STREAMS_EACH) {
        throw new Fault("rate_limited", {
          message: `This credential has ${MOST_STREAMS_EACH} open streams, the most allowed. Close one: a single stream can listen to ${MOST_RESOURCES} resources.`,
          retryAfter: RETRY_SECONDS,
        });
      }
      if (all >= MOST_STREAMS) {
        throw new Fault("unavailable", {
          message: `This process has ${MOST_STREAMS} open streams, its limit. Poll the resources, or try again later.`,
          retryAfter: RETRY_SECONDS,
        });
      }
      taken.set(who, mine + 1);
      all += 1;
      let held = true;
      return () => {
        if (!held) return;
        held = false;
        all -= 1;
        const left = (taken.get(who) ?? 1) - 1;
        if (left === 0) taken.delete(who);
        else taken.set(who, left);
      };
    },
  };
}

const Listen = z.looseObject({
  params: z.looseObject({ notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()) }) }),
});
const WATCHED = new RegExp(`^(?:job|campaign|proposal)://${UUID}$`);

interface Chosen {
  propertyId: string | null;
  seen: Map<string, string | null>;
  /** The request with only the accepted resources: the answer thereby shows which were left out. */
  body: unknown;
}

/** The requested resources that exist and that the caller may follow: their own jobs and campaigns. */
async function choose(
  { service: { db, directory } }: Machine,
  { call, surface }: Exchange,
  body: unknown,
): Promise<Chosen> {
  const parsed = Listen.safeParse(body);
  // The SDK refuses malformed ones.
  if (!parsed.success) return { propertyId: null, seen: new Map(), body };
  const { params } = parsed.data;
  const requested = params.notifications.resourceSubscriptions;
  if (requested.length > MOST_RESOURCES) {
    throw invalid("resourceSubscriptions", `has more than ${MOST_RESOURCES} resources for one stream`);
  }
  const uris = requested.filter((uri) => WATCHED.test(uri) && readerOf(surface, uri));
  const narrowed = (resourceSubscriptions: string[]) => ({
    ...parsed.data,
    params: { ...params, notifications: { ...params.notifications, resourceSubscriptions } },
  });
  const [first] = uris;
  if (first === undefined) return { propertyId: null, seen: new Map(), body: narrowed([]) };
  const { id } = await resolveProperty(directory, readerOf(surface, first)!, call, []);
  const now = await db.asProperty(id, (sql) => versionsOf(sql, id, idsOf(uris)), { readOnly: true });
  const seen = new Map(uris.flatMap((uri) => (now.has(uri) ? [[uri, now.get(uri)!] as const] : [])));
  return { propertyId: id, seen, body: narrowed([...seen.keys()]) };
}

const Declared = z.looseObject({
  params: z.looseObject({
    _meta: z.looseObject({
      [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({ extensions: z.looseObject({ [TASKS]: z.unknown() }) }),
    }),
  }),
});
const AboutTasks = z.looseObject({
  params: z.looseObject({ notifications: z.looseObject({ taskIds: z.array(z.unknown()) }) }),
});

/** Whether the request names tasks without declaring the extension for them. */
export function lacksTasks(body: unknown): boolean {
  return AboutTasks.safeParse(body).success && !Declared.safeParse(body).success;
}
