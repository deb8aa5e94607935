import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import { guides } from "#transports/docs/guides.ts";
import { demoRecords } from "#transports/examples/demo-records.ts";
import { withRecords } from "#transports/examples/record-ids.ts";
import type { AdmissionControl } from "#transports/http/admission.ts";
import { answer } from "#transports/http/answer.ts";
import { admitted, type Http } from "#transports/http/handlers.ts";
import { mcpDiscovery, mcpServerCard } from "#transports/mcp/discovery.ts";
import { PATH } from "#transports/mcp/identity.ts";
import { openApi } from "#transports/openapi/document.ts";

/** Mounts the documents by which programs and agents find the service. None of them needs a credential. */
export function mountDiscovery(
  app: Http,
  control: AdmissionControl,
  service: Service,
  catalog: Catalog,
): void {
  const { baseUrl, siteUrl, securityContact } = service.config;
  const document = (path: string, body: object, contentType = "application/json") => {
    const text = JSON.stringify(body);
    app.get(path, () => new Response(text, { headers: publicHeaders(contentType) }));
  };
  const metadata = protectedResource(baseUrl, siteUrl);
  document("/.well-known/oauth-protected-resource", metadata);
  document(`/.well-known/oauth-protected-resource${PATH}`, { ...metadata, resource: baseUrl + PATH });
  document("/.well-known/mcp.json", mcpDiscovery(service.config, catalog));
  document("/.well-known/ai-catalog.json", aiCatalog(baseUrl, siteUrl));
  document("/.well-known/api-catalog", apiCatalog(baseUrl), "application/linkset+json");
  app.get("/.well-known/jwks.json", async () =>
    Response.json(await service.sessions.jwks(), { headers: publicHeaders() }),
  );
  app.get("/.well-known/security.txt", () => text(securityText(siteUrl, securityContact)));
  app.get("/llms.txt", () => text(llms(baseUrl, catalog)));
  // Built at the first request: it takes half as long as the rest of a start.
  let specification: string | undefined;
  const card = JSON.stringify(mcpServerCard(service.config));
  app.get(
    "/api/openapi.json",
    admitted(control, async ({ frame }) => {
      specification ??= JSON.stringify(openApi(catalog, baseUrl));
      return answer(frame, 200, withRecords(specification, await demoRecords(service, catalog)));
    }),
  );
  app.get(
    "/api/mcp/server-card",
    admitted(control, async ({ frame }) => answer(frame, 200, card)),
  );
}

/** RFC 9728, with the agent_auth of the specification's authentication, rule 8. */
function protectedResource(baseUrl: string, siteUrl: string) {
  return {
    resource: `${baseUrl}/api`,
    resource_name: "Player Marketing Service",
    bearer_methods_supported: ["header"],
    scopes_supported: ["read", "write"],
    resource_documentation: `${siteUrl}/llms.txt`,
    agent_auth: {
      methods: [
        {
          type: "api_key",
          in: "header",
          name: "X-Api-Key",
          key_prefix: "pk_",
          scopes: ["read", "write"],
          registration_url: `${baseUrl}/api/functions/create-api-key`,
        },
      ],
    },
  };
}

function aiCatalog(baseUrl: string, siteUrl: string) {
  return {
    specVersion: "1.0",
    host: { displayName: "Player Marketing Service", identifier: siteUrl },
    entries: [
      {
        identifier: "urn:player-marketing:mcp",
        displayName: "Player Marketing MCP server",
        mediaType: "application/mcp-server-card+json",
        url: `${baseUrl}/api/mcp/server-card`,
      },
      {
        identifier: "urn:player-marketing:openapi",
        displayName: "Player Marketing REST API",
        mediaType: "application/vnd.oai.openapi+json;version=3.1",
        url: `${baseUrl}/api/openapi.json`,
      },
    ],
  };
}

/** The API catalog of RFC 9727. */
function apiCatalog(baseUrl: string) {
  return {
    linkset: [
      {
        anchor: `${baseUrl}/api`,
        "service-desc": [{ href: `${baseUrl}/api/openapi.json`, type: "application/vnd.oai.openapi+json" }],
        "service-doc": [{ href: `${baseUrl}/docs`, type: "text/html" }],
        "service-meta": [{ href: `${baseUrl}/api/mcp/server-card`, type: "application/json" }],
      },
    ],
  };
}

/** RFC 9116 requires a contact. Without SECURITY_CONTACT it is the site: a made-up mailbox might have no reader. */
function securityText(siteUrl: string, contact: string | null): string {
  const now = new Date();
  // Months ahead on every day of the year, and less than a year, as the RFC recommends.
  const expires = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 7, 1)).toISOString();
  return `Contact: ${contact ?? `${siteUrl}/`}\nExpires: ${expires}\nPreferred-Languages: en\nCanonical: ${siteUrl}/.well-known/security.txt\n`;
}

function llms(baseUrl: string, catalog: Catalog): string {
  const sections = catalog.domains.map(({ name, title }) => {
    const lines = [...catalog.operations.values()]
      .filter((operation) => catalog.domainOf.get(operation.name) === name)
      .map((operation) => `- ${operation.name}: ${operation.description}`);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  return [
    "# Player Marketing Service",
    "",
    `> Casino player marketing, API version ${CURRENT_VERSION}. MCP at ${baseUrl}/api/mcp with an API key in X-Api-Key. REST under ${baseUrl}/api, described in ${baseUrl}/api/openapi.json.`,
    "",
    "## Guides",
    "",
    ...guides().map(({ name, title, summary }) => `- [${title}](${baseUrl}/docs/${name}.md): ${summary}`),
    "",
    ...sections.flatMap((section) => [section, ""]),
  ].join("\n");
}

function text(body: string): Response {
  return new Response(body, { headers: publicHeaders("text/plain; charset=utf-8") });
}

function publicHeaders(contentType = "application/json"): Record<string, string> {
  return {
    "content-type": contentType,
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=300",
    "x-content-type-options": "nosniff",
  };
}
