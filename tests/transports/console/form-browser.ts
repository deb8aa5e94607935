import { expect } from "vitest";
import type { TestService } from "../../support/service.ts";

export interface FormBrowser {
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  /** Posts a form with the token of the first page, unless `token` is another. */
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Answer>;
  cookies: Map<string, string>;
}
interface Answer {
  status: number;
  text: string;
  location: string | null;
  setCookies: string[];
  headers: Headers;
}

/** A browser's handling of cookies and forms, without pictures and scripts. */
export function formBrowser(service: TestService): FormBrowser {
  const cookies = new Map<string, string>();
  const send = async (path: string, init: RequestInit): Promise<Answer> => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(cookie && { cookie }), ...(init.headers as Record<string, string>) };
    const response = await fetch(service.baseUrl + path, { ...init, headers, redirect: "manual" });
    const setCookies = response.headers.getSetCookie();
    for (const line of setCookies) {
      const [name, value] = line.split(";")[0]!.split("=") as [string, string];
      if (/Max-Age=0/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    const text = await response.text();
    const location = response.headers.get("location");
    return { status: response.status, text, location, setCookies, headers: response.headers };
  };
  const get: FormBrowser["get"] = (path, headers = {}) => send(path, { headers });
  return {
    cookies,
    get,
    post: async (path, fields = {}, headers = {}) => {
      const { text } = await get("/console");
      const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? "";
      const body = new URLSearchParams({ token, ...fields });
      return send(path, { method: "POST", body, headers: { "sec-fetch-site": "same-origin", ...headers } });
    },
  };
}

/** A browser of a person who has signed in. */
export async function signedIn(service: TestService, options: Parameters<TestService["signIn"]>[0] = {}) {
  const { email, password } = await service.signIn(options);
  const one = formBrowser(service);
  const answer = await one.post("/console/sign-in", { email, password });
  expect(answer.status).toBe(303);
  return { ...one, email, password, answer };
}
