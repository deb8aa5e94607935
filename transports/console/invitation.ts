import { html } from "hono/html";
import { type Fault, toFault } from "#runtime/faults.ts";
import { anonymously } from "#transports/http/anonymous.ts";
import type { HttpContext } from "#transports/http/handlers.ts";
import { readForm } from "#transports/pages/frame/form.ts";
import { type Html, servicePage } from "#transports/pages/frame/page.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";

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
    return "property_name" in shown ? invitationPage(shown, fault) : gonePage(shown);
  };
  app.get("/console/invitation/:token", (c) => page(c));
  app.post("/console/invitation/:token", async (c) => {
    const password = (await readForm(c))?.get("password");
    const input = { token: c.req.param("token"), ...(password && { password }) };
    return run<Shown>(c, "accept_invitation", input).then(joinedPage, (error: unknown) =>
      page(c, toFault(error)),
    );
  });
}

function invitationPage(
  { property_name, email, role, needs_password }: Shown,
  fault?: Fault,
): Promise<Response> {
  const password = needs_password
    ? html`<p>Set a password for ${email}. Use 12 characters or more.</p><label for="password">Password</label><input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="256">`
    : html`<p>You join with your account ${email}.</p>`;
  return servicePage({
    heading: `Join ${property_name}`,
    status: fault?.status ?? 200,
    content: html`<p>You are invited to its marketing console, as ${role}.</p>${fault ? faultNote(fault) : ""}<form method="post">${password}<button type="submit">Join</button></form>`,
  });
}

function joinedPage({ property_name }: Shown): Promise<Response> {
  return servicePage({
    heading: `You have joined ${property_name}`,
    content: html`<p><a class="button" href="/console">Open the console</a></p>`,
  });
}

function gonePage({ status }: Fault): Promise<Response> {
  const text =
    status >= 500
      ? "That did not work. Please try again in a minute."
      : "This link is not valid any more. Ask an admin of the property for a new invitation.";
  return servicePage({ heading: "No open invitation", status, content: html`<p>${text}</p>` });
}

function faultNote(fault: Fault): Html {
  const message = fault.details?.[0]?.message ?? fault.message;
  return html`<p class="wrong" role="alert">${message[0]?.toUpperCase()}${message.slice(1).replace(/\.?$/, ".")}</p>`;
}
