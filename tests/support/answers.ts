import { connect } from "node:net";
import { expect } from "vitest";
import { CURRENT_VERSION } from "#runtime/versions.ts";
import type { Answer } from "./service.ts";

/** The headers of every response under /api. */
export function expectFrame({ headers, status, body }: Answer, about: string): void {
  expect(headers.get("API-Version"), about).toBe(CURRENT_VERSION);
  for (const name of ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]) {
    expect(headers.get(name), `${about} ${name}`).toMatch(/^\d+$/);
  }
  if (status < 400) return;
  expect(headers.get("content-type"), about).toMatch(/^application\/json/);
  expect(typeof body.error === "string" || typeof body.error?.message === "string", about).toBe(true);
}

/** The refusal that an answer must be, with all that every refusal carries. */
export async function refused(status: number, code: string, answer: Promise<Answer>): Promise<Answer> {
  const got = await answer;
  expectFrame(got, `${status} ${code}`);
  expect({ status: got.status, code: got.body.code }, got.text).toEqual({ status, code });
  return got;
}

/** Bytes to the server, and all that it answers before it closes. */
export function raw(baseUrl: string, text: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      answer += chunk;
    });
    // Closing while we still write is an answer too, once something has been said.
    socket.on("error", (error) => (answer ? resolve(answer) : reject(error)));
    socket.on("close", () => resolve(answer));
  });
}
