import type { TestService } from "../../../support/service.ts";

export const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "agent", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface Asked {
  key?: string;
  headers?: Record<string, string>;
  capabilities?: object;
  id?: number;
}

/** One `subscriptions/listen`, and what comes of it. */
export async function listen(service: TestService, notifications: object, asked: Asked = {}) {
  const { key = service.tenant.key, headers, capabilities = {}, id = 7 } = asked;
  const gone = new AbortController();
  const response = await fetch(`${service.baseUrl}/api/mcp`, {
    method: "POST",
    signal: gone.signal,
    headers: {
      ...(headers ?? { "X-Api-Key": key }),
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": "2026-07-28",
      "Mcp-Method": "subscriptions/listen",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "subscriptions/listen",
      params: {
        notifications,
        _meta: { ...META, "io.modelcontextprotocol/clientCapabilities": capabilities },
      },
    }),
  });
  const { status } = response;
  const streams = response.headers.get("content-type") === "text/event-stream";
  const messages = messagesOf(response.body!);
  return {
    status,
    headers: response.headers,
    /** Of a refusal. */
    error: streams ? null : (JSON.parse(await text(response)) as { id: number; error: Refusal }),
    /** The next message; null when the stream has ended. */
    next: async (): Promise<Message | null> => (await messages.next()).value ?? null,
    leave: () => gone.abort(),
  };
}

interface Refusal {
  code: number;
  message: string;
  data?: unknown;
}

export interface Message {
  id?: number;
  method?: string;
  params?: { uri?: string; notifications?: object; _meta: Record<string, unknown> };
  result?: object;
}

const text = (response: Response) => response.text();

async function* messagesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Message, null> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
    rest = blocks.pop()!;
    for (const block of blocks) {
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (data) yield JSON.parse(data) as Message;
    }
  }
  return null;
}
