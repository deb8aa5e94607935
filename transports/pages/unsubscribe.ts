import { randomUUID } from "node:crypto";
import type { Catalog } from "#runtime/catalog.ts";
import { toFault } from "#runtime/faults.ts";
import { invoke, type Service } from "#runtime/invoke.ts";
import { readUnsubscribeToken } from "#tools/campaigns/unsubscribe.ts";
import { addressOf, type Gate } from "../gate.ts";
import type { Http, HttpContext } from "../rest.ts";
import { escapeHtml, page } from "./page.ts";

/** The page behind every unsubscribe link: GET shows and changes nothing, POST acts at once (RFC 8058). */
export function mountUnsubscribe(app: Http, gate: Gate, service: Service, catalog: Catalog): void {
  app.get("/u/:token", async (c) => {
    const found = await find(service, c);
    if (!found) return unknownLink();
    const name = escapeHtml(found.property.name);
    return page(
      `Unsubscribe from ${found.property.name}`,
      `<p class="from">${name}</p><h1>Stop these emails?</h1><p>You will get no more marketing email from ${name}. It takes effect at once.</p><form method="post"><button type="submit">Unsubscribe</button></form>${footer(found.property)}`,
    );
  });
  app.post("/u/:token", async (c) => {
    const found = await find(service, c);
    if (!found) return unknownLink();
    const operation = catalog.operations.get("unsubscribe")!;
    try {
      await invoke(
        service,
        operation,
        {
          actor: { type: "system", id: null },
          transport: "page",
          requestId: randomUUID(),
          propertyId: found.property.id,
          ip: addressOf(gate, c.env.incoming),
          userAgent: c.req.header("user-agent"),
        },
        { sendId: found.sendId },
      );
    } catch (error) {
      const fault = toFault(error);
      if (fault.status === 404) return unknownLink();
      return page(
        "Try again",
        "<h1>That did not work</h1><p>Please try the link again in a minute.</p>",
        fault.status,
      );
    }
    const name = escapeHtml(found.property.name);
    return page(
      "You are unsubscribed",
      `<p class="from">${name}</p><h1>You are unsubscribed</h1><p>${name} will send you no more marketing email.</p><p class="soft">Changed your mind? Ask at the club desk.</p>${footer(found.property)}`,
    );
  });
}

async function find(service: Service, c: HttpContext) {
  // Mail programs take the bracket or the full stop after a link for a part of it.
  const [given = ""] = /^[\w-]+\.[\w-]+/.exec(c.req.param("token") ?? "") ?? [];
  const token = readUnsubscribeToken(service.config, given);
  const property = token && (await service.directory.property(token.propertyId));
  return property ? { property, sendId: token.sendId } : null;
}

function unknownLink(): Response {
  return page(
    "Link not valid",
    `<h1>This link is not valid</h1><p>It may have been cut off on its way. Use the link in the email itself, or the unsubscribe button of your mail program.</p>`,
    404,
  );
}

function footer(property: {
  legal_name: string | null;
  postal_address: string | null;
  responsible_gaming_footer: string | null;
}): string {
  const lines = [property.legal_name, property.postal_address, property.responsible_gaming_footer].filter(
    (line) => line !== null,
  );
  return lines.length > 0 ? `<footer>${lines.map(escapeHtml).join("\n")}</footer>` : "";
}
