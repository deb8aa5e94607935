import { html } from "hono/html";
import type { Desk, Row } from "#transports/console/desk.ts";
import { actButton, type Filled, formOf, input, select, tried } from "#transports/console/fields.ts";
import { tableOf } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { chip, labelOf, words } from "#transports/console/values.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { PART, settingPage } from "./settings.ts";

interface Person extends Row {
  id: string;
  memberships: { property_id: string; role: string }[];
}

/** The people of the property, and their roles. Accounts are the platform's: its admins make them. */
export async function peoplePage(
  desk: Desk,
  filled: Filled = { values: { role: "manager" } },
): Promise<Response> {
  if (!desk.user.isPlatformAdmin) {
    const content = html`<div class="empty"><p>${say().settings.youAre(desk.user.email, labelOf(desk.role))}</p></div>`;
    return settingPage(desk, "people", content);
  }
  const { users } = await desk.run<{ users: Person[] }>("list_users");
  const here = users.filter((user) => roleOf(desk, user) !== null || user.is_platform_admin);
  const lines = here.map(rowOf(desk));
  const form = formOf(desk, {
    action: `${PART}/people`,
    filled,
    kind: "narrow",
    content: html`${input(filled, { name: "email", label: say().general.email, type: "email", isRequired: true, most: 320 })}${input(filled, { name: "person", label: say().general.name, most: 200 })}${input(filled, { name: "password", label: say().settings.firstPassword, type: "password", most: 256, hint: say().settings.n12CharactersOrMoreNot })}${select(filled, { name: "role", label: say().settings.role, options: Object.entries(say().settings.roles) })}<div class="acts"><button>${say().settings.addThePerson}</button></div>`,
  });
  const content = html`${tableOf(say().settings.people, [say().settings.person, say().general.name, say().settings.role, say().settings.change], lines, html`<p>${say().settings.nobody}</p>`)}<h2>${say().settings.addAPerson}</h2>${form}`;
  return settingPage(desk, "people", content);
}

/** Gives a person a role here, with an account if they have none. */
export function addPerson(desk: Desk): Promise<Response> {
  const { form } = desk;
  return tried(
    async () => {
      const email = (form.get("email") ?? "").trim().toLowerCase();
      const { users } = await desk.run<{ users: Person[] }>("list_users");
      const known = users.find((user) => user.email === email);
      const name = form.get("person")?.trim();
      const account = { email, password: form.get("password") ?? "", ...(name && { name }) };
      const { id } = known ?? (await desk.once<{ id: string }>("create_user", account));
      await desk.run("grant_membership", { user_id: id, role: form.get("role") ?? "analyst" });
      return redirect(`${PART}/people`);
    },
    (fault) => peoplePage(desk, { values: form, fault }),
  );
}

export async function removePerson(desk: Desk): Promise<Response> {
  await desk.run("revoke_membership", { user_id: desk.c.req.param("id") });
  return redirect(`${PART}/people`);
}

function rowOf(desk: Desk) {
  return (user: Person): Html => {
    const role = roleOf(desk, user);
    const remove = role
      ? actButton(desk, `${PART}/people/${user.id}/remove`, say().general.remove, "plain-button")
      : "";
    const all = [role && words(role), user.is_platform_admin && say().settings.platformAdmin]
      .filter(Boolean)
      .join(", ");
    return html`<tr><th scope="row">${user.email} ${user.is_active ? "" : chip("inactive")}</th><td>${user.name ?? ""}</td><td>${all}</td><td>${remove}</td></tr>`;
  };
}

function roleOf({ property }: Desk, { memberships }: Person): string | null {
  return memberships.find(({ property_id }) => property_id === property.id)?.role ?? null;
}
