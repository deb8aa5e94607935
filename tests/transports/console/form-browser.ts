import type { Page } from "playwright-core";
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
  /** The forms' tokens by the cookies that they were shown to: a person does not load a page for each form. */
  const tokens = new Map<string, string>();
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
      const shownTo = [cookies.get("console_session"), cookies.get("console_property")].join();
      const token = fields.token ?? tokens.get(shownTo) ?? tokenIn((await get("/console")).text);
      if (fields.token === undefined) tokens.set(shownTo, token);
      const body = new URLSearchParams({ token, ...fields });
      return send(path, { method: "POST", body, headers: { "sec-fetch-site": "same-origin", ...headers } });
    },
  };
}

const tokenIn = (page: string): string => /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";

/** A browser of a person who has signed in. */
export async function signedIn(service: TestService, options: Parameters<TestService["signIn"]>[0] = {}) {
  const { email, password, token } = await service.signIn(options);
  const one = formBrowser(service);
  one.cookies.set("console_session", token);
  return { ...one, email, password };
}

/**
 * Lets a tab of a whole browser in, as signing in does, with other choices of the person. Signing in by its page is a
 * test of its own.
 */
export async function letIn(
  page: Page,
  { baseUrl }: TestService,
  { token }: { token: string },
  choices: Readonly<Record<string, string>> = {},
): Promise<void> {
  const cookies = Object.entries({ console_session: token, ...choices });
  await page
    .context()
    .addCookies(
      cookies.map(([name, value]) => ({ name, value, url: baseUrl, httpOnly: true, sameSite: "Strict" })),
    );
}
