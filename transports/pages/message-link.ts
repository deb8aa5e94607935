import { randomUUID } from "node:crypto";
import type { Catalog } from "#runtime/catalog.ts";
import type { Context } from "#runtime/context.ts";
import type { Property } from "#runtime/directory.ts";
import { toToldFault } from "#runtime/failures.ts";
import { invoke, type Service } from "#runtime/invoke.ts";
import { readUnsubscribeToken } from "#tools/campaigns/unsubscribe.ts";
import { addressOf, type Gate } from "../gate.ts";
import type { Http, HttpContext } from "../guarded.ts";
import { escapeHtml, page } from "./page.ts";

/** What the link of a message leads to, for whoever has the message. */
export interface MessageLink {
  property: Property;
  token: string;
  sendId: string;
  /** Asks something about it, in a transaction that changes nothing and leaves no record. */
  ask<T>(question: (about: Pick<Context, "sql" | "property">) => Promise<T>): Promise<T>;
  /** Runs an operation about the message's send. */
  run<T>(operation: string, input?: object): Promise<T>;
}

/** The token in a link's address, without the bracket, the full stop or the slash that mail programs put behind it. */
export function tokenOf(c: HttpContext): string {
  return /^[\w-]+\.[\w-]+/.exec(c.req.param("token") ?? "")?.[0] ?? "";
}

/** Pages behind a message's own link: one that is not ours, or of a send that is gone, says so. */
export function mountMessageLink(
  { app, gate, service, catalog }: { app: Http; gate: Gate; service: Service; catalog: Catalog },
  path: string,
  answers: Record<"get" | "post", (link: MessageLink, c: HttpContext) => Promise<Response>>,
): void {
  for (const method of ["get", "post"] as const) {
    app[method](`${path}/:token{.+}`, async (c) => {
      const token = tokenOf(c);
      const about = readUnsubscribeToken(service.config, token);
      if (!about) return unknownLink();
      const requestId = randomUUID();
      try {
        const property = await service.directory.property(about.propertyId);
        if (!property) return unknownLink();
        const call = {
          actor: { type: "system", id: null } as const,
          transport: "page" as const,
          requestId,
          propertyId: property.id,
          ip: addressOf(gate, c.env.incoming),
          userAgent: c.req.header("user-agent"),
        };
        const run = async <T>(name: string, input: object = {}): Promise<T> => {
          const operation = catalog.operations.get(name)!;
          const { body } = await invoke(service, operation, call, { ...input, sendId: about.sendId });
          return JSON.parse(body);
        };
        const ask: MessageLink["ask"] = (question) =>
          service.db.asProperty(property.id, (sql) => question({ sql, property }), { readOnly: true });
        return await answers[method]({ property, token, sendId: about.sendId, ask, run }, c);
      } catch (error) {
        const { status } = toToldFault(service.log, error, { path, requestId });
        return status === 404 ? unknownLink() : failed(status);
      }
    });
  }
}

/** A page in the name of the property, with its legal footer. */
export function propertyPage(property: Property, title: string, body: string): Response {
  const { name, legal_name, postal_address, responsible_gaming_footer } = property;
  const lines = [legal_name, postal_address, responsible_gaming_footer].filter((line) => line !== null);
  const footer = lines.length > 0 ? `<footer>${lines.map(escapeHtml).join("\n")}</footer>` : "";
  return page(
    `${title} · ${name}`,
    `<p class="from">${escapeHtml(name)}</p><h1>${escapeHtml(title)}</h1>${body}${footer}`,
  );
}

function unknownLink(): Response {
  return page(
    "Link not valid",
    `<h1>This link is not valid</h1><p>It may have been cut off on its way. Use the link in the email itself, or the unsubscribe button of your mail program.</p>`,
    404,
  );
}

function failed(status: number): Response {
  const when = status === 429 ? "tomorrow" : "in a minute";
  return page("Try again", `<h1>That did not work</h1><p>Please try the link again ${when}.</p>`, status);
}
