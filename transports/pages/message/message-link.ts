import { randomUUID } from "node:crypto";
import { loggedFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { writeAsService } from "#runtime/funnel/system-work.ts";
import type { Context, Tenant } from "#runtime/operation/context.ts";
import { readUnsubscribeToken } from "#tools/player-links/links.ts";
import { themeOf } from "#tools/themes/theme.ts";
import { addressOf } from "#transports/http/admission.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import type { House } from "#transports/pages/frame/player-page.ts";
import { failedPage, tokenOf, unknownLink } from "#transports/pages/player/player-link.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { speechOf } from "#transports/pages/words/words.ts";

/** An opened link of a message. Every holder of the message can open it. */
export interface MessageLink extends House {
  token: string;
  sendId: string;
  /** Reads in a read-only transaction, without an audit row. */
  read<T>(query: (tenant: Tenant) => Promise<T>): Promise<T>;
  /** Writes without an audit row. */
  write<T>(work: (context: Context) => Promise<T>): Promise<T>;
  /** Runs an operation on the message's send. */
  run<T>(operation: string, input?: object): Promise<T>;
}

/** Mounts pages behind a message's own link. A link that is not ours, or whose send is gone, gets a page that says so. */
export function mountMessageLink(
  mounting: Mounting,
  path: string,
  answers: Record<"get" | "post", (link: MessageLink, c: HttpContext) => Promise<Response>>,
): void {
  for (const method of ["get", "post"] as const) {
    mounting.app[method](`${path}/:token{.+}`, (c) => answerMessageLink(mounting, path, c, answers[method]));
  }
}

/** Answers the request of a message's link. */
export async function answerMessageLink(
  mounting: Mounting,
  path: string,
  c: HttpContext,
  answer: (link: MessageLink, c: HttpContext) => Promise<Response>,
): Promise<Response> {
  const { service } = mounting;
  const accepted = c.req.header("accept-language");
  const requestId = randomUUID();
  try {
    const link = await openLink(mounting, c, requestId);
    return link ? await answer(link, c) : await unknownLink(speechOf(accepted));
  } catch (error) {
    const fault = loggedFault(service.log, error, { path, requestId });
    return fault.status === 404 ? unknownLink(speechOf(accepted)) : failedPage(speechOf(accepted), fault);
  }
}

async function openLink(
  { control, service, catalog }: Mounting,
  c: HttpContext,
  requestId: string,
): Promise<MessageLink | null> {
  const token = tokenOf(c);
  const target = readUnsubscribeToken(service.config, token);
  const property = target && (await service.directory.property(target.propertyId));
  if (!target || !property) return null;
  const { sendId } = target;
  const call = {
    actor: { type: "system", id: null } as const,
    transport: "page" as const,
    requestId,
    propertyId: property.id,
    ip: addressOf(control, c.env.incoming),
    userAgent: c.req.header("user-agent"),
  };
  const run = async <T>(name: string, input: object = {}): Promise<T> => {
    const operation = catalog.operations.get(name)!;
    const { body } = await invoke(service, operation, call, { ...input, sendId });
    return JSON.parse(body);
  };
  const read: MessageLink["read"] = (query) =>
    service.db.asProperty(property.id, (sql) => query({ sql, property }), { readOnly: true });
  const write: MessageLink["write"] = (work) => writeAsService(service, property, work);
  const { theme, language } = await read(async (tenant) => ({
    theme: await themeOf(tenant),
    language: await languageOf(tenant, sendId),
  }));
  const speech = speechOf(language, c.req.header("accept-language"), theme.language);
  return { property, theme, speech, token, sendId, read, write, run };
}

/** The language of a send's player, if it is known. */
async function languageOf({ sql, property }: Tenant, sendId: string): Promise<string | null> {
  const [player] = await sql<{ language: string | null }[]>`
    select p.language from campaign_sends s
    join players p on p.property_id = ${property.id} and p.id = s.player_id and p.deleted_at is null
    where s.property_id = ${property.id} and s.id = ${sendId}`;
  return player?.language ?? null;
}
