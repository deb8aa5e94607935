import type { Config } from "#runtime/config.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import { DESCRIPTION, NAME, PATH, REVISIONS, TITLE, VERSION } from "./identity.ts";

type Addresses = Pick<Config, "baseUrl" | "siteUrl">;

/** The settings that a person pastes into an MCP client. */
export function mcpClientConfig(baseUrl: string, key: string): object {
  return { mcpServers: { [NAME]: { type: "http", url: baseUrl + PATH, headers: { "X-Api-Key": key } } } };
}

/** `/.well-known/mcp.json`: the facts for a client that has no key yet. */
export function mcpDiscovery({ baseUrl, siteUrl }: Addresses, catalog: Catalog): object {
  const url = baseUrl + PATH;
  return {
    name: NAME,
    title: TITLE,
    version: VERSION,
    description: DESCRIPTION,
    url,
    transport: { type: "streamable-http", url },
    protocol_versions: REVISIONS,
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    authentication: {
      required: true,
      schemes: ["api_key"],
      api_key: { in: "header", name: "X-Api-Key", key_prefix: "pk_", also: "Authorization: Bearer <key>" },
      resource_metadata: `${siteUrl}/.well-known/oauth-protected-resource${PATH}`,
    },
    toolsets: catalog.toolsets.map(({ name, title }) => ({ name, title })),
    options: ["toolsets", "read_only", "exclude", "pii"],
    server_card: `${url}/server-card`,
  };
}

/** The server card of SEP-2127: identity and endpoint. The connection itself lists the tools. */
export function mcpServerCard({ baseUrl, siteUrl }: Addresses): object {
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
    name: `${new URL(siteUrl).hostname.split(".").reverse().join(".")}/${NAME}`,
    title: TITLE,
    description: DESCRIPTION,
    version: VERSION,
    websiteUrl: siteUrl,
    remotes: [
      {
        type: "streamable-http",
        url: baseUrl + PATH,
        supportedProtocolVersions: REVISIONS,
        headers: [
          {
            name: "X-Api-Key",
            description: "An API key of the property; it starts with pk_.",
            isRequired: true,
            isSecret: true,
          },
        ],
      },
    ],
  };
}
