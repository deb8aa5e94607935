import { html } from "hono/html";
import { type Fault, toFault } from "#runtime/faults.ts";
import { signedOutPage } from "#transports/console/signed-out.ts";
import { inEnglish, say } from "#transports/console/words/say.ts";
import { anonymously } from "#transports/http/anonymous.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";

/** Mounts the pages of a forgotten password: the request for a link, and the page of the link. GET changes nothing. */
export function mountPasswordReset(mounting: Mounting): void {
  const { app } = mounting;
  const anonymous = anonymously(mounting);
  const run = (c: HttpContext, name: string, input: object): Promise<Fault | null> =>
    anonymous(c, name, input).then(() => null, toFault);
  app.get("/password-reset", (c) => askPage(c));
  app.post("/password-reset", async (c) => {
    const form = await readForm(c);
    const email = form?.get("email")?.trim() ?? "";
    const fault = await run(c, "request_password_reset", { email });
    return fault ? askPage(c, fault) : sentPage(c);
  });
  app.get("/password-reset/:token", (c) => setPage(c));
  app.post("/password-reset/:token", async (c) => {
    const form = await readForm(c);
    const input = { token: c.req.param("token"), password: form?.get("password") ?? "" };
    const fault = await run(c, "confirm_password_reset", input);
    return fault ? setPage(c, fault) : donePage(c);
  });
}

function askPage(c: HttpContext, fault?: Fault): Promise<Response> {
  return show(
    c,
    say().signIn.forgotYourPassword,
    html`<p>${say().signIn.tellUsEmailYourAccount}</p>${faultNote(fault, say().signIn.writeWholeEmailAddressSuch)}<form method="post"><label for="email">${say().general.email}</label><input id="email" name="email" type="email" autocomplete="username" required maxlength="320"><button type="submit">${say().signIn.sendTheLink}</button></form>`,
    fault,
  );
}

function sentPage(c: HttpContext): Promise<Response> {
  return show(
    c,
    say().signIn.checkYourMail,
    html`<p>${say().signIn.ifThereAccountWithThis}</p><p class="soft">${say().signIn.nothingThereCheckSpamFolder}</p>`,
  );
}

function setPage(c: HttpContext, fault?: Fault): Promise<Response> {
  return show(
    c,
    say().signIn.setANewPassword,
    html`<p>${say().signIn.endsEverySessionYourAccount}</p>${faultNote(fault)}<form method="post"><label for="password">${say().signIn.newPassword}</label><input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="256"><button type="submit">${say().signIn.setThePassword}</button></form><p class="soft"><a href="/password-reset">${say().signIn.askForNewLink}</a></p>`,
    fault,
  );
}

function donePage(c: HttpContext): Promise<Response> {
  return show(
    c,
    say().signIn.yourPasswordIsSet,
    html`<p>${say().signIn.signInWithFromNow}</p><p><a class="button" href="/console">${say().signIn.openTheConsole}</a></p>`,
  );
}

/** The fault as a note for people, without the field's name. `instead` replaces its message. */
function faultNote(fault: Fault | undefined, instead?: string): Html | "" {
  if (!fault) return "";
  if (fault.code === "rate_limited") return note(say().signIn.tooManyTriesComeBack);
  if (fault.status >= 500) return note(say().signIn.thatDidNotWorkPlease);
  if (instead !== undefined) return note(instead);
  const message = fault.details?.[0]?.message ?? fault.message;
  return note(inEnglish(`${message[0]?.toUpperCase()}${message.slice(1).replace(/\.?$/, ".")}`));
}

function note(text: Html | string): Html {
  return html`<p class="wrong" role="alert">${text}</p>`;
}

function show(c: HttpContext, heading: string, content: Html, fault?: Fault): Promise<Response> {
  const headers = fault?.retryAfter === undefined ? {} : { "Retry-After": String(fault.retryAfter) };
  return signedOutPage(c, { heading, content, status: fault?.status ?? 200, headers });
}
