import { randomUUID } from "node:crypto";
import { loggedFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import type { Property } from "#runtime/operation/property.ts";
import { readUnsubscribeToken } from "#tools/preferences/links.ts";
import { type AdmissionControl, addressOf } from "#transports/http/admission.ts";
import type { Http, HttpContext } from "#transports/http/handlers.ts";
import { escapeHtml, page } from "./page.ts";

/** An opened link of a message. Every holder of the message can open it. */
export interface MessageLink {
  property: Property;
  token: string;
  sendId: string;
  /** Reads in a read-only transaction, without an audit row. */
  read<T>(query: (tenant: Tenant) => Promise<T>): Promise<T>;
  /** Runs an operation on the message's send. */
  run<T>(operation: string, input?: object): Promise<T>;
}

/** The token in a link's address, without a bracket, full stop or slash that a mail program added. */
export function tokenOf(c: HttpContext): string {
  return /^[\w-]+\.[\w-]+/.exec(c.req.param("token") ?? "")?.[0] ?? "";
}

export interface Mounting {
  app: Http;
  control: AdmissionControl;
  service: Service;
  catalog: Catalog;
}

/** Mounts pages behind a message's own link. A link that is not ours, or whose send is gone, gets a page that says so. */
export function mountMessageLink(
  { app, control, service, catalog }: Mounting,
  path: string,
  answers: Record<"get" | "post", (link: MessageLink, c: HttpContext) => Promise<Response>>,
): void {
  for (const method of ["get", "post"] as const) {
    app[method](`${path}/:token{.+}`, async (c) => {
      const token = tokenOf(c);
      const target = readUnsubscribeToken(service.config, token);
      if (!target) return unknownLink();
      const requestId = randomUUID();
      try {
        const property = await service.directory.property(target.propertyId);
        if (!property) return unknownLink();
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
          const { body } = await invoke(service, operation, call, { ...input, sendId: target.sendId });
          return JSON.parse(body);
        };
        const read: MessageLink["read"] = (query) =>
          service.db.asProperty(property.id, (sql) => query({ sql, property }), { readOnly: true });
        return await answers[method]({ property, token, sendId: target.sendId, read, run }, c);
      } catch (error) {
        const { status } = loggedFault(service.log, error, { path, requestId });
        return status === 404 ? unknownLink() : failed(status);
      }
    });
  }
}

/** A page in the property's name, with its legal footer. */
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
