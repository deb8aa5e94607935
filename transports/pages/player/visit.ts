import { randomUUID } from "node:crypto";
import { Fault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { type PlayerPage, readPlayerToken } from "#tools/player-links/links.ts";
import { type Visitor, visitorOf } from "#tools/player-links/visitor.ts";
import { type Theme, themeOf } from "#tools/themes/theme.ts";
import { type AdmissionControl, addressOf } from "#transports/http/admission.ts";
import type { Http, HttpContext } from "#transports/http/handlers.ts";

export interface Mounting {
  app: Http;
  control: AdmissionControl;
  service: Service;
  catalog: Catalog;
}

/** Requests a minute by one player. */
const PLAYER_LIMIT = 240;

/** A player who came by a link or a subject token. */
export interface Visit {
  property: Property;
  theme: Theme;
  player: Visitor;
  token: string;
  /** The message by whose link the player came; null for another link. */
  sendId: string | null;
  /** Runs an operation on this player. */
  run<T>(operation: string, input?: object): Promise<T>;
}

/**
 * The player of a token, while the page is open to them. Null for every other token: their faults look alike. Throws
 * `rate_limited`.
 */
export async function visitBy(
  { control, service, catalog }: Mounting,
  to: PlayerPage,
  c: HttpContext,
  token: string,
): Promise<Visit | null> {
  const subject = readPlayerToken(service.config, to, service.directory.now(), token);
  const property = subject && (await service.directory.property(subject.propertyId));
  if (!subject || !property) return null;
  const found = await service.db.asProperty(
    property.id,
    async (sql) => {
      const tenant: Tenant = { sql, property };
      const [player, theme] = await Promise.all([visitorOf(tenant, to, subject), themeOf(tenant)]);
      return player && { player, theme };
    },
    { readOnly: true },
  );
  if (!found) return null;
  const { player, theme } = found;
  const allowance = control.limiter.take(`player:${player.id}`, PLAYER_LIMIT);
  if (!allowance.allowed) throw new Fault("rate_limited", { retryAfter: 60 });
  const call = {
    actor: { type: "system", id: null } as const,
    transport: "page" as const,
    requestId: randomUUID(),
    propertyId: property.id,
    ip: addressOf(control, c.env.incoming),
    userAgent: c.req.header("user-agent"),
  };
  const run = async <T>(name: string, input: object = {}): Promise<T> => {
    const operation = catalog.operations.get(name)!;
    const wanted = { ...input, playerId: player.id };
    const { body } = await invoke(service, operation, call, wanted);
    return JSON.parse(body);
  };
  return { property, theme, player, token, sendId: "sendId" in subject ? subject.sendId : null, run };
}
