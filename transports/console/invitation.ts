import { html } from "hono/html";
import { type Fault, toFault } from "#runtime/faults.ts";
import { anonymously } from "#transports/http/anonymous.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { signedOutPage } from "./signed-out.ts";
import { labelOf } from "./values.ts";
import { inEnglish, say } from "./words/say.ts";

interface Shown {
  property_name: string;
  email: string;
  role: string;
  needs_password: boolean;
}

/** Mounts the page of an invitation's link. GET changes nothing, so a mail scanner accepts no invitation. */
export function mountInvitation(mounting: Mounting): void {
  const { app } = mounting;
  const run = anonymously(mounting);
  const page = async (c: HttpContext, fault?: Fault): Promise<Response> => {
    const token = c.req.param("token");
    const shown = await run<Shown>(c, "show_invitation", { token }).catch(toFault);
    return "property_name" in shown ? invitationPage(c, shown, fault) : gonePage(c, shown);
  };
  app.get("/console/invitation/:token", (c) => page(c));
  app.post("/console/invitation/:token", async (c) => {
    const password = (await readForm(c))?.get("password");
    const input = { token: c.req.param("token"), ...(password && { password }) };
    return run<Shown>(c, "accept_invitation", input).then(
      (shown) => joinedPage(c, shown),
      (error: unknown) => page(c, toFault(error)),
    );
  });
}

function invitationPage(
  c: HttpContext,
  { property_name, email, role, needs_password }: Shown,
  fault?: Fault,
): Promise<Response> {
  const password = needs_password
    ? html`<p>${say().general.setAPasswordFor(email)}</p><label for="password">${say().signIn.password}</label><input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="256">`
    : html`<p>${say().general.youJoinWith(email)}</p>`;
  return signedOutPage(c, {
    heading: say().general.joinProperty(property_name),
    status: fault?.status ?? 200,
    content: html`<p>${say().general.invitedAs(labelOf(role))}</p>${fault ? faultNote(fault) : ""}<form method="post">${password}<button type="submit">${say().general.join}</button></form>`,
  });
}

function joinedPage(c: HttpContext, { property_name }: Shown): Promise<Response> {
  return signedOutPage(c, {
    heading: say().general.youHaveJoined(property_name),
    content: html`<p><a class="button" href="/console">${say().signIn.openTheConsole}</a></p>`,
  });
}

function gonePage(c: HttpContext, { status }: Fault): Promise<Response> {
  const text = status >= 500 ? say().signIn.thatDidNotWorkPlease : say().general.thisLinkNotValidAny;
  return signedOutPage(c, { heading: say().general.noOpenInvitation, status, content: html`<p>${text}</p>` });
}

function faultNote(fault: Fault): Html {
  const message = fault.details?.[0]?.message ?? fault.message;
  return html`<p class="wrong" role="alert">${inEnglish(`${message[0]?.toUpperCase()}${message.slice(1).replace(/\.?$/, ".")}`)}</p>`;
}
