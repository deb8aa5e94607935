import { html } from "hono/html";
import { type Fault, toFault } from "#runtime/faults.ts";
import { anonymously } from "#transports/http/anonymous.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { type Html, servicePage } from "#transports/pages/frame/page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";

/** Mounts the pages of a forgotten password: the request for a link, and the page of the link. GET changes nothing. */
export function mountPasswordReset(mounting: Mounting): void {
  const { app } = mounting;
  const anonymous = anonymously(mounting);
  const run = (c: HttpContext, name: string, input: object): Promise<Fault | null> =>
    anonymous(c, name, input).then(() => null, toFault);
  app.get("/password-reset", () => askPage());
  app.post("/password-reset", async (c) => {
    const form = await readForm(c);
    const email = form?.get("email")?.trim() ?? "";
    const fault = await run(c, "request_password_reset", { email });
    return fault ? askPage(fault) : sentPage();
  });
  app.get("/password-reset/:token", () => setPage());
  app.post("/password-reset/:token", async (c) => {
    const form = await readForm(c);
    const input = { token: c.req.param("token"), password: form?.get("password") ?? "" };
    const fault = await run(c, "confirm_password_reset", input);
    return fault ? setPage(fault) : donePage();
  });
}

function askPage(fault?: Fault): Promise<Response> {
  return show(
    "Forgot your password?",
    html`<p>Tell us the email of your account. If there is one, you get a link to set a new password.</p>${faultNote(fault, "Write a whole email address, such as you@example.com.")}<form method="post"><label for="email">Email</label><input id="email" name="email" type="email" autocomplete="username" required maxlength="320"><button type="submit">Send the link</button></form>`,
    fault,
  );
}

function sentPage(): Promise<Response> {
  return show(
    "Check your mail",
    html`<p>If there is an account with this email, a link is on its way. It works once, within 30 minutes.</p><p class="soft">Nothing there? Check the spam folder, or ask again in a few minutes.</p>`,
  );
}

function setPage(fault?: Fault): Promise<Response> {
  return show(
    "Set a new password",
    html`<p>It ends every session of your account. Use 12 characters or more.</p>${faultNote(fault)}<form method="post"><label for="password">New password</label><input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="256"><button type="submit">Set the password</button></form><p class="soft"><a href="/password-reset">Ask for a new link</a></p>`,
    fault,
  );
}

function donePage(): Promise<Response> {
  return show(
    "Your password is set",
    html`<p>Sign in with it from now on. All other sessions of your account have ended.</p><p><a class="button" href="/console">Open the console</a></p>`,
  );
}

/** The fault as a note for people, without the field's name. `instead` replaces its message. */
function faultNote(fault: Fault | undefined, instead?: string): Html | "" {
  if (!fault) return "";
  if (fault.code === "rate_limited") return note("Too many tries. Come back in a quarter of an hour.");
  if (fault.status >= 500) return note("That did not work. Please try again in a minute.");
  const message = instead ?? fault.details?.[0]?.message ?? fault.message;
  return note(`${message[0]?.toUpperCase()}${message.slice(1).replace(/\.?$/, ".")}`);
}

function note(text: string): Html {
  return html`<p class="wrong" role="alert">${text}</p>`;
}

function show(heading: string, content: Html, fault?: Fault): Promise<Response> {
  const headers = fault?.retryAfter === undefined ? {} : { "Retry-After": String(fault.retryAfter) };
  return servicePage({ heading, content, status: fault?.status ?? 200, headers });
}
