import { html } from "hono/html";
import type { HttpContext } from "#transports/http/handlers.ts";
import { type Html, servicePage } from "#transports/pages/frame/page.ts";
import { hereOf } from "./guard.ts";
import { LANGUAGE_NAMES, type Language, language, say } from "./words/say.ts";

/** A page of the console for a person without a desk: it signs in, it has no property, or its form was refused. */
export function signedOutPage(
  c: HttpContext,
  { content, ...page }: Omit<Parameters<typeof servicePage>[0], "language">,
): Promise<Response> {
  const { path } = c.req;
  const to = returnPath(c, path.startsWith("/password-reset") ? path : "/console");
  return servicePage({ ...page, language: language(), content: html`${content}${languageSwitch(to)}` });
}

/** The page of a form that another site may have sent. */
export function refusedPage(c: HttpContext): Promise<Response> {
  return signedOutPage(c, {
    heading: say().signIn.thatFormWasNotSent,
    content: html`<p>${say().signIn.nothingHasChangedOpenPage}</p><a class="button" href="/console">${say().signIn.openTheConsole}</a>`,
    status: 403,
  });
}

/** The answer to a form of a person who is signed out. The browser keeps the form, and a reload sends it again. */
export function signedOutFormPage(c: HttpContext, cookies: readonly string[]): Promise<Response> {
  return signedOutPage(c, {
    heading: say().signIn.youAreSignedOut,
    content: html`<p>${say().signIn.signInElsewhereAndReload}</p><a class="button" href="/console/sign-in" target="_blank" rel="noopener">${say().signIn.signIn}</a>`,
    headers: cookies[0] === undefined ? {} : { "Set-Cookie": cookies[0] },
    status: 401,
  });
}

/** A form that an earlier session has shown to the same person, who sends it now, or does not. */
export function earlierFormPage(
  c: HttpContext,
  { form, token, email }: { form: URLSearchParams; token: string; email: string },
): Promise<Response> {
  form.set("token", token);
  const fields = [...form].map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return signedOutPage(c, {
    heading: say().signIn.signedInAgain,
    content: html`<p>${say().signIn.nothingHasChangedYet(email)}</p><form method="post" action="${hereOf(c)}">${fields}<button>${say().signIn.sendItNow}</button></form>`,
    status: 403,
  });
}

/** The page of a form that is too large, or holds characters that no text of ours may have. */
export function unreadablePage(c: HttpContext): Promise<Response> {
  return signedOutPage(c, {
    heading: say().signIn.thatFormCannotBeRead,
    content: html`<p>${say().signIn.formTooLargeOrOdd}</p><a class="button" href="/console">${say().signIn.openTheConsole}</a>`,
    status: 400,
  });
}

/** The page that shows the same again by GET; `otherwise` after a form. */
export function returnPath(c: HttpContext, otherwise: string): string {
  return c.req.method === "GET" ? hereOf(c) : otherwise;
}

/** A button for each other language. The page at `to` follows in it. */
export function languageSwitch(to: string): Html {
  const others = (Object.keys(LANGUAGE_NAMES) as Language[]).filter((one) => one !== language());
  const buttons = others.map(
    (one) =>
      html`<button class="quiet small" name="language" value="${one}" lang="${one}"><span class="whole">${LANGUAGE_NAMES[one]}</span><span class="brief" aria-hidden="true">${one.toUpperCase()}</span></button>`,
  );
  return html`<form class="language" method="post" action="/console/language" aria-label="${say().general.language}"><input type="hidden" name="to" value="${to}">${buttons}</form>`;
}

export function redirect(to: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: to, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 303, headers });
}
