import { randomUUID } from "node:crypto";
import { html } from "hono/html";
import { type Fault, toFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { addressOf } from "#transports/http/admission.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { respond, servicePage } from "#transports/pages/frame/page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { cookieIn, setCookie } from "./cookies.ts";
import { consolePath, hasFormToken, isFromHere } from "./guard.ts";

/** Mounts the page where people sign in, and the form that signs them out. */
export function mountSignIn(mounting: Mounting): void {
  const { app, service } = mounting;
  app.get("/console/sign-in", (c) => signInPage(consolePath(c.req.query("to"))));
  app.post("/console/sign-in", (c) => signIn(mounting, c));
  app.post("/console/sign-out", async (c) => {
    const session = cookieIn(c, service, "console_session");
    const form = await readForm(c);
    if (session === undefined) return redirect("/console/sign-in");
    if (!isFromHere(c) || !form || !hasFormToken(form, session)) return refusedPage();
    return redirect("/console/sign-in", [setCookie(service, "console_session", "", 0)]);
  });
}

async function signIn({ control, service, catalog }: Mounting, c: HttpContext): Promise<Response> {
  const form = await readForm(c);
  const to = consolePath(form?.get("to"));
  if (!isFromHere(c)) return refusedPage();
  const call = {
    actor: { type: "anonymous", id: null } as const,
    transport: "page" as const,
    requestId: randomUUID(),
    ip: addressOf(control, c.env.incoming),
    userAgent: c.req.header("user-agent"),
  };
  const email = form?.get("email")?.trim() ?? "";
  try {
    const input = { email, password: form?.get("password") ?? "" };
    const { body } = await invoke(service, catalog.operations.get("login")!, call, input);
    const { token, expires_in } = JSON.parse(body) as { token: string; expires_in: number };
    return redirect(to, [setCookie(service, "console_session", token, expires_in)]);
  } catch (error) {
    return signInPage(to, { email, fault: toFault(error) });
  }
}

/** Another site's link brings no cookie. The browser loads the page again, as ours, and then brings it. */
export function arrivalPage(path: string): Promise<Response> {
  return respond({
    title: "Player marketing",
    headers: { refresh: `0; url=${path}` },
    body: html`<main class="card"><h1>One moment</h1><p><a href="${path}">Go on to the console</a></p></main>`,
  });
}

/** The page of a form that another site may have sent. */
export function refusedPage(): Promise<Response> {
  return servicePage({
    heading: "That form was not sent from here",
    content: html`<p>Nothing has changed. Open the page again, and send the form from there.</p><a class="button" href="/console">Open the console</a>`,
    status: 403,
  });
}

export function redirect(to: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: to, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}

function signInPage(to: string, tried?: { email: string; fault: Fault }): Promise<Response> {
  const retryAfter = tried?.fault.retryAfter;
  return servicePage({
    heading: "Sign in",
    status: tried?.fault.status ?? 200,
    headers: retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) },
    content: html`${tried ? html`<p class="wrong" role="alert">${reasonOf(tried.fault)}</p>` : ""}<form method="post" action="/console/sign-in"><input type="hidden" name="to" value="${to}"><label for="email">Email</label><input id="email" name="email" type="email" autocomplete="username" required maxlength="320" value="${tried?.email ?? ""}"><label for="password">Password</label><input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"><button type="submit">Sign in</button></form><p class="soft"><a href="/password-reset">Forgot your password?</a></p>`,
  });
}

function reasonOf({ code, status }: Fault): string {
  if (code === "rate_limited") return "Too many tries. Come back in a quarter of an hour.";
  if (status >= 500) return "That did not work. Please try again in a minute.";
  return "The email or the password is wrong.";
}
