import { html } from "hono/html";
import { type Desk, isAdmin } from "#transports/console/desk.ts";
import {
  actButton,
  askButton,
  type Filled,
  formOf,
  input,
  onceField,
  select,
  tried,
} from "#transports/console/fields.ts";
import { tokenField } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { labelOf, timeOf, words } from "#transports/console/values.ts";
import { tableOf } from "#transports/console/views/parts.js";
import { inEnglish, say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART, settingPage } from "./settings.ts";

interface Member {
  user_id: string;
  email: string;
  name: string | null;
  role: string;
  created_at: string;
}

interface Invitation {
  id: string;
  email: string;
  name: string | null;
  role: string;
  expires_at: string;
}

interface Key {
  name: string;
  key_prefix: string;
}

/** The people of the property with their roles, whom its admins manage. */
export async function peoplePage(
  desk: Desk,
  filled: Filled = { values: { role: "manager" } },
  said: Html | "" = "",
): Promise<Response> {
  if (!desk.canWrite) {
    const content = html`<div class="empty"><p>${say().settings.youAre(desk.user.email, labelOf(desk.role))}</p></div>`;
    return settingPage(desk, "people", content);
  }
  const { members, invitations } = await desk.run<{ members: Member[]; invitations: Invitation[] }>(
    "list_members",
  );
  const head = [
    say().settings.person,
    say().general.name,
    say().settings.role,
    say().general.since,
    ...(isAdmin(desk) ? [say().settings.change] : []),
  ];
  const people = tableOf(
    say().settings.people,
    head,
    members.map(memberRow(desk)),
    html`<p>${say().settings.nobody}</p>`,
  );
  const invited =
    invitations.length === 0
      ? ""
      : html`<h2>${say().settings.invited}</h2>${tableOf(say().settings.invited, [say().settings.person, say().general.name, say().settings.role, say().settings.validUntil, ...(isAdmin(desk) ? [say().settings.change] : [])], invitations.map(invitationRow(desk)), html``)}`;
  const form = isAdmin(desk)
    ? invitationForm(desk, filled)
    : html`<p class="soft">${say().settings.adminInvitesPeopleAndChanges}</p>`;
  return settingPage(desk, "people", html`${said}${people}${invited}${form}`);
}

/** Mails a person a link by which they join. */
export function invitePerson(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      const name = form.get("person")?.trim();
      await desk.once("invite_member", {
        email: form.get("email")?.trim() ?? "",
        role: form.get("role") ?? "analyst",
        ...(name && { name }),
      });
      return redirect(`${PART}/people`);
    },
    (fault) => peoplePage(desk, { values: form, fault }),
  );
}

export function changeRole(desk: Desk): Promise<Response> {
  const change = { user_id: desk.c.req.param("id"), role: desk.form.get("role") ?? "" };
  return acted(desk, async () => {
    await desk.run("set_member_role", change);
    return redirect(`${PART}/people`);
  });
}

/** Removes a person, and names the keys that they have made. */
export function removePerson(desk: Desk): Promise<Response> {
  return acted(desk, async () => {
    const { email, api_keys } = await desk.run<{ email: string; api_keys: Key[] }>("remove_member", {
      user_id: desk.c.req.param("id"),
    });
    if (email === desk.user.email) return redirect("/console");
    return peoplePage(desk, undefined, removedNote(email, api_keys));
  });
}

export function withdrawInvitation(desk: Desk): Promise<Response> {
  return acted(desk, async () => {
    await desk.run("withdraw_invitation", { invitation_id: desk.c.req.param("id") });
    return redirect(`${PART}/people`);
  });
}

/** A change that cannot be done now shows the people with the reason. */
function acted(desk: Desk, work: () => Promise<Response>): Promise<Response> {
  return tried(work, ({ message }) =>
    peoplePage(desk, undefined, html`<p class="wrong" role="alert">${inEnglish(message)}</p>`),
  );
}

function removedNote(email: string, keys: readonly Key[]): Html {
  const made =
    keys.length === 0
      ? ""
      : html` <a href="${PART}/keys">${say().settings.revokeTheKeys}</a> ${say().settings.keysMade(keys.map(({ name, key_prefix }) => `${name} (${key_prefix}…)`).join(", "))}`;
  return html`<p class="said" role="status">${say().settings.hasNoAccess(email, made)}</p>`;
}

function invitationForm(desk: Desk, filled: Filled): Html {
  return html`<h2>${say().settings.inviteAPerson}</h2>${formOf(desk, {
    action: `${PART}/people`,
    filled,
    kind: "narrow",
    content: html`${input(filled, { name: "email", label: say().general.email, type: "email", isRequired: true, most: 320 })}${input(filled, { name: "person", label: say().general.name, most: 200 })}${select(filled, { name: "role", label: say().settings.role, options: Object.entries(say().settings.roles), hint: say().settings.theyGetLinkByMail })}<div class="acts"><button>${say().settings.sendTheInvitation}</button></div>`,
  })}`;
}

function memberRow(desk: Desk) {
  return ({ user_id, email, name, role, created_at }: Member): Html => {
    const path = `${PART}/people/${user_id}`;
    const isSelf = user_id === desk.user.id;
    const remove = askButton(desk, {
      action: `${path}/remove`,
      text: isSelf ? say().settings.leave : say().general.remove,
      question: isSelf ? say().settings.youHaveNoAccessTo : say().settings.losesAccess(email),
      yes: isSelf ? say().settings.leaveTheProperty : say().settings.removeThePerson,
    });
    const options = Object.keys(say().settings.roles).map(
      (value) =>
        html`<option value="${value}"${value === role ? html` selected` : ""}>${words(value)}</option>`,
    );
    const change = html`<form class="row-form" method="post" action="${path}/role">${tokenField(desk)}${onceField()}<label class="unseen" for="role-${user_id}">${say().settings.roleOf(email)}</label><select id="role-${user_id}" name="role">${options}</select><button class="quiet small">${say().settings.change}</button></form>`;
    const acts = isAdmin(desk) ? html`<td><div class="acts">${change}${remove}</div></td>` : "";
    return html`<tr><th scope="row">${email}${isSelf ? say().settings.you : ""}</th><td>${name ?? ""}</td><td>${words(role)}</td><td>${timeOf(created_at, desk.property.timezone)}</td>${acts}</tr>`;
  };
}

function invitationRow(desk: Desk) {
  return ({ id, email, name, role, expires_at }: Invitation): Html => {
    const withdraw = actButton(
      desk,
      `${PART}/invitations/${id}/withdraw`,
      say().settings.withdraw,
      "plain-button",
    );
    return html`<tr><th scope="row">${email}</th><td>${name ?? ""}</td><td>${words(role)}</td><td>${timeOf(expires_at, desk.property.timezone)}</td>${isAdmin(desk) ? html`<td>${withdraw}</td>` : ""}</tr>`;
  };
}
