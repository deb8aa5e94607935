import type { ServiceProcess } from "./process.ts";

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a fault reads what it expects
  body: any;
  headers: Headers;
}

/** A request with a key, if there is one. Any body but a string goes as JSON. */
export async function send(
  { baseUrl }: Pick<ServiceProcess, "baseUrl">,
  key: string,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      ...(key && { "X-Api-Key": key }),
      ...(text && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(text && { body: text }),
    signal: AbortSignal.timeout(30_000),
  });
  const answered = await response.text();
  return {
    status: response.status,
    body: answered === "" ? null : JSON.parse(answered),
    headers: response.headers,
  };
}

/** The same, where anything but success is the end. */
export async function must(...request: Parameters<typeof send>): Promise<Answer> {
  const answer = await send(...request);
  if (answer.status >= 300) {
    throw new Error(`${request[2]} ${request[3]}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }
  return answer;
}
