import type { InMemoryServerEventBus } from "@modelcontextprotocol/server";
import { Fault, toFault } from "#runtime/faults.ts";
import { resolveProperty } from "#runtime/funnel/access.ts";
import { authenticate } from "#runtime/identity/credentials.ts";
import type { Call } from "#runtime/operation/context.ts";
import { versionsOf } from "#tools/jobs/versions.ts";
import { readOptions } from "#transports/mcp/listing/options.ts";
import type { Machine, Surface } from "#transports/mcp/listing/visible-tools.ts";
import { readerOf } from "#transports/mcp/resources/resources.ts";

const LOOK_MS = 1_000;
/** Until a look that failed for a listener's credential is repeated. */
const AGAIN_MS = 100;
/** Looks until credentials are read again without a known change: one may have expired. */
const CREDENTIAL_LOOKS = 15;

/** A listener and its resources. */
export interface Listener {
  call: Call;
  request: Request;
  surface: Surface;
  bus: InMemoryServerEventBus;
  /** Null where it listens to no resource. */
  propertyId: string | null;
  /** The last version of each of its resources; null for a deleted one. */
  seen: Map<string, string | null>;
  end(): Promise<void>;
}

/**
 * Looks once a second, for all listeners of this process: one query a property for all their resources. It rests while
 * there are no listeners.
 */
export function openWatch(machine: Machine, listeners: ReadonlySet<Listener>) {
  const { directory, log } = machine.service;
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let looking = Promise.resolve();
  let looks = 0;
  /** Of credentials. `checked` is their number at the last check of all; NaN where one was not possible. */
  let [changes, checked] = [0, 0];
  let stopped = false;
  let isSubscribed = false;

  const look = async () => {
    looks += 1;
    // One that comes during the look is told by the next one, which checks it first.
    const present = [...listeners];
    const unsure = new Set<Listener>();
    // Credentials first: a listener that has lost access gets no later change.
    const before = changes;
    if (checked !== before || looks % CREDENTIAL_LOOKS === 0) {
      checked = before;
      // One after another, so that they use one of the connections for requests.
      for (const listener of present) {
        if (stopped) return;
        if (!(await recheck(machine, listener))) unsure.add(listener);
      }
      if (unsure.size > 0) checked = Number.NaN;
    }
    const sure = present.filter((listener) => listeners.has(listener) && !unsure.has(listener));
    const byProperty = Map.groupBy(sure, ({ propertyId }) => propertyId);
    for (const [id, here] of byProperty) {
      if (stopped) return;
      if (id !== null) await publishChanges(machine, id, here, () => changes === before);
    }
  };
  const lookNow = () => {
    isLooking = true;
    looking = look()
      .catch((error: unknown) => log.debug({ err: error }, "a look at what is listened to failed"))
      .finally(() => {
        isLooking = false;
        timer = undefined;
        // A credential that changed during the look is not left until the next turn.
        if (listeners.size > 0) wake(checked === changes ? LOOK_MS : AGAIN_MS);
      });
  };
  const wake = (after = LOOK_MS) => {
    if (stopped || isLooking || timer) return;
    if (!isSubscribed) {
      isSubscribed = true;
      directory.onChange(() => {
        changes += 1;
        clearTimeout(timer);
        timer = undefined;
        if (listeners.size > 0) wake(0);
      });
    }
    timer = setTimeout(lookNow, after);
  };
  return {
    /** Called when somebody begins to listen. */
    wake: () => {
      // A credential may have been revoked since its request was admitted.
      checked = Number.NaN;
      wake();
    },
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}

/** The distinct ids in addresses of resources. */
export function idsOf(uris: Iterable<string>): string[] {
  return [...new Set([...uris].map((uri) => uri.slice(uri.indexOf("://") + 3)))];
}

/** Nothing is told where a credential has changed since the check: the next look begins with it. */
async function publishChanges(
  { service: { db, log } }: Machine,
  id: string,
  listeners: readonly Listener[],
  isChecked: () => boolean,
): Promise<void> {
  const ids = idsOf(listeners.flatMap(({ seen }) => [...seen.keys()]));
  try {
    const now = await db.asProperty(id, (sql) => versionsOf(sql, id, ids), { readOnly: true });
    if (!isChecked()) return;
    for (const listener of listeners) publishTo(listener, now);
  } catch (error) {
    log.debug({ err: error, propertyId: id }, "a look at what is listened to failed; the next one follows");
  }
}

function publishTo({ seen, bus }: Listener, now: ReadonlyMap<string, string>): void {
  for (const [uri, before] of seen) {
    const version = now.get(uri) ?? null;
    if (version === before) continue;
    seen.set(uri, version);
    bus.publish({ kind: "resource_updated", uri });
  }
}

/**
 * Ends the stream of an invalid credential, or of one that lost access to its resources. Tells a stream when its lists
 * have changed. Answers whether the check was possible.
 */
async function recheck(machine: Machine, listener: Listener): Promise<boolean> {
  try {
    const surface = await surfaceNow(machine, listener);
    const before = listener.surface;
    listener.surface = surface;
    if (surface.listedJson !== before.listedJson || surface.reach.size !== before.reach.size) {
      for (const kind of ["tools_list_changed", "prompts_list_changed", "resources_list_changed"] as const) {
        listener.bus.publish({ kind });
      }
    }
  } catch (error) {
    if (toFault(error).status >= 500) return false;
    await listener.end();
  }
  return true;
}

async function surfaceNow({ service, catalog, surfaces }: Machine, listener: Listener): Promise<Surface> {
  const { request, seen, propertyId } = listener;
  const { directory, sessions } = service;
  const apiKey = request.headers.get("x-api-key") ?? undefined;
  const authorization = request.headers.get("authorization") ?? undefined;
  const actor = await authenticate(directory, sessions, { apiKey, authorization }, () => {});
  const call = { ...listener.call, actor };
  const surface = surfaces.of(call, readOptions(request, catalog, actor));
  for (const uri of seen.keys()) {
    const operation = readerOf(surface, uri);
    if (!operation) throw new Fault("forbidden");
    const { id } = await resolveProperty(directory, operation, call, []);
    if (id !== propertyId) throw new Fault("wrong_property");
  }
  return surface;
}
