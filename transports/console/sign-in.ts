import { randomUUID } from "node:crypto";
import { html } from "hono/html";
import { type Fault, loggedFault, toFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { addressOf } from "#transports/http/admission.ts";
import { anonymously } from "#transports/http/anonymous.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { respond } from "#transports/pages/frame/page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { cookieIn, setCookie } from "./cookies.ts";
import { consolePath, hasFormToken, isFromHere } from "./guard.ts";
import { redirect, refusedPage, signedOutPage } from "./signed-out.ts";
import { language, say } from "./words/say.ts";

/** Mounts the page where people sign in, and the form that signs them out. */
export function mountSignIn(mounting: Mounting): void {
  const { app, service } = mounting;
  const run = anonymously(mounting);
  app.get("/console/sign-in", (c) => signInPage(c, consolePath(c.req.query("to"))));
  app.post("/console/sign-in", (c) => signIn(mounting, c));
  app.post("/console/sign-out", async (c) => {
    const session = cookieIn(c, service, "console_session");
    const form = await readForm(c);
    if (session === undefined) return redirect("/console/sign-in");
    if (!isFromHere(c) || !form || !hasFormToken(form, session)) return refusedPage(c);
    try {
      await run(c, "logout", { token: session });
    } catch (error) {
      const { status } = loggedFault(service.log, error, { path: "console", requestId: "" });
      const content = html`<p>${say().signIn.thatDidNotWorkPlease}</p>`;
      return signedOutPage(c, { heading: say().signIn.youAreStillSignedIn, status, content });
    }
    return redirect("/console/sign-in", [setCookie(service, "console_session", "", 0)]);
  });
}

async function signIn({ control, service, catalog }: Mounting, c: HttpContext): Promise<Response> {
  const form = await readForm(c);
  const to = consolePath(form?.get("to"));
  if (!isFromHere(c)) return refusedPage(c);
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
    return signInPage(c, to, { email, fault: toFault(error) });
  }
}

/** Another site's link brings no cookie. The browser loads the page again, as ours, and then brings it. */
export function arrivalPage(path: string): Promise<Response> {
  return respond({
    title: "Player marketing",
    language: language(),
    headers: { refresh: `0; url=${path}` },
    body: html`<main class="card"><h1>${say().signIn.oneMoment}</h1><p><a href="${path}">${say().signIn.goOnToConsole}</a></p></main>`,
  });
}

function signInPage(c: HttpContext, to: string, tried?: { email: string; fault: Fault }): Promise<Response> {
  const retryAfter = tried?.fault.retryAfter;
  return signedOutPage(c, {
    heading: say().signIn.signIn,
    status: tried?.fault.status ?? 200,
    headers: retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) },
    content: html`${tried ? html`<p class="wrong" role="alert">${reasonOf(tried.fault)}</p>` : ""}<form method="post" action="/console/sign-in"><input type="hidden" name="to" value="${to}"><label for="email">${say().general.email}</label><input id="email" name="email" type="email" autocomplete="username" required maxlength="320" value="${tried?.email ?? ""}"><label for="password">${say().signIn.password}</label><input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"><button type="submit">${say().signIn.signIn}</button></form><p class="soft"><a href="/password-reset">${say().signIn.forgotYourPassword}</a></p>`,
  });
}

function reasonOf({ code, status }: Fault): string {
  if (code === "rate_limited") return say().signIn.tooManyTriesComeBack;
  if (status >= 500) return say().signIn.thatDidNotWorkPlease;
  return say().signIn.emailOrPasswordWrong;
}
