import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CATALOG } from "#tools/catalog.ts";
import { refused } from "../../support/answers.ts";
import { onceOverMcp } from "../../support/operation-calls.ts";
import { startService, type Tenant, type TestService } from "../../support/service.ts";

interface Person {
  id: string;
  email: string;
  token: string;
}

let service: TestService;
let sql: postgres.Sql;
let rival: Tenant;
let admin: Person;
let rivalAdmin: Person;
let next = 0;

beforeAll(async () => {
  service = await startService({ trustProxy: 1 });
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} });
  rival = await service.newTenant({ name: "Rival casino" });
  admin = await service.signIn({ role: "admin" });
  rivalAdmin = await personOf(rival, "admin");
});
afterAll(async () => {
  await sql?.end();
  await service?.stop();
});

async function personOf(tenant: { id: string }, role: string): Promise<Person> {
  const person = await service.signIn({ role: null });
  await service.call("grant_membership", { property_id: tenant.id, user_id: person.id, role });
  return person;
}

const address = () => `m${++next}@example.com`;
const as = ({ token }: { token: string }) => ({ "X-Api-Key": null, Authorization: `Bearer ${token}` });
const own = () => ({ property_id: service.tenant.id });
const asked = (name: string, input: object, person: { token: string } = admin) =>
  service.post(`/api/functions/${name}`, { ...own(), ...input }, as(person));
const invited = (email: string, role = "manager", input: object = {}) =>
  asked("invite-member", { email, role, ...input });
const nobody = () => ({ "X-Api-Key": null, "X-Forwarded-For": `10.9.0.${++next}` });
const shown = (token: string) => service.post("/api/auth/invitation", { token }, nobody());
const accepted = (token: string, password?: string) =>
  service.post("/api/auth/invitation/accept", { token, ...(password && { password }) }, nobody());

async function linkFor(email: string): Promise<string> {
  await service.idle();
  const { messages } = await service.call("list_platform_messages", { limit: 100 });
  const mail = messages.find(({ recipient }: { recipient: string }) => recipient === email);
  return /\/console\/invitation\/([\w-]+)/.exec(mail.text)![1]!;
}

const membersOf = async (person = admin, property = service.tenant.id) =>
  (await service.post("/api/functions/list-members", { property_id: property }, as(person))).body;

describe("a person who is invited", () => {
  test("joins by the link in the mail with a password of their own, and an event and an audit row tell of it", async () => {
    const endpoint = { url: "https://crm.example/hooks", events: ["member.*"] };
    await service.call("create_webhook_endpoint", endpoint, service.tenant.id);
    const email = address();
    const invitation = await invited(email, "manager", { name: "Mia" });
    expect(invitation.status).toBe(201);
    expect(await membersOf()).toMatchObject({
      invitations: expect.arrayContaining([expect.objectContaining({ email, name: "Mia", role: "manager" })]),
    });
    const token = await linkFor(email);
    expect((await shown(token)).body).toMatchObject({ email, role: "manager", needs_password: true });
    await refused(400, "invalid", accepted(token, "short"));
    expect((await accepted(token, "a long sentence of hers")).status).toBe(200);
    const { members, invitations } = await membersOf();
    expect(members).toContainEqual(expect.objectContaining({ email, name: "Mia", role: "manager" }));
    expect(invitations.map((one: { email: string }) => one.email)).not.toContain(email);
    const login = { email, password: "a long sentence of hers" };
    const { body } = await service.post("/api/auth/login", login, nobody());
    const me = await service.get("/api/auth/me", as(body));
    expect(me.body.memberships).toEqual([{ property_id: service.tenant.id, role: "manager" }]);
    const told = await sql`select type from outbox where property_id = ${service.tenant.id} order by id`;
    expect(told.map(({ type }) => type)).toEqual(["member.invited", "member.joined"]);
    const rows = await sql`
      select action from audit_logs where property_id = ${service.tenant.id} and entity = 'memberships' and entity_id = ${me.body.id}`;
    expect(rows.map(({ action }) => action)).toContain("accept_invitation");
  });

  test("a person who works elsewhere is shown to nobody here before they accept, and loses nothing there", async () => {
    const [known, unknown] = [await personOf(rival, "manager"), { email: address() }];
    const answers = [await invited(known.email), await invited(unknown.email)];
    const shape = ({ status, body }: (typeof answers)[number]) => [
      status,
      Object.keys(body).sort(),
      body.name,
    ];
    expect(shape(answers[0]!)).toEqual(shape(answers[1]!));
    // With two properties, their program's calls without property_id would fail.
    expect((await service.get("/api/auth/me", as(known))).body.memberships).toHaveLength(1);
    const token = await linkFor(known.email);
    expect((await shown(token)).body.needs_password).toBe(false);
    expect((await accepted(token, "a password that must not be set")).status).toBe(200);
    await refused(
      401,
      "invalid_credential",
      service.post(
        "/api/auth/login",
        { email: known.email, password: "a password that must not be set" },
        nobody(),
      ),
    );
    const { members } = await membersOf();
    expect(members).toContainEqual(expect.objectContaining({ email: known.email, name: null }));
    expect((await service.get("/api/auth/me", as(known))).body.memberships).toHaveLength(2);
  });

  test("cannot use a link twice, nor one that was withdrawn, replaced or is too old", async () => {
    const email = address();
    await invited(email);
    const first = await linkFor(email);
    const both = await Promise.all([1, 2, 3].map((n) => accepted(first, `a long sentence, number ${n}`)));
    expect(both.map(({ status }) => status).sort()[0]).toBe(200);
    expect(both.filter(({ status }) => status === 200)).toHaveLength(1);
    await refused(400, "invalid", accepted(first, "another long sentence"));

    const withdrawn = address();
    const { body } = await invited(withdrawn);
    const second = await linkFor(withdrawn);
    expect((await asked("withdraw-invitation", { invitation_id: body.id })).status).toBe(200);
    await refused(400, "invalid", accepted(second, "a long sentence"));
    await refused(404, "not_found", asked("withdraw-invitation", { invitation_id: body.id }));
    await refused(409, "conflict", invited(withdrawn));
    await sql`update invitations set created_at = now() - interval '11 minutes' where email = ${withdrawn}`;
    expect((await invited(withdrawn)).status).toBe(201);
    await refused(400, "invalid", accepted(second, "a long sentence"));
    const third = await (async () => {
      await service.idle();
      const { messages } = await service.call("list_platform_messages", { limit: 100 });
      const texts = messages.filter((one: { recipient: string }) => one.recipient === withdrawn);
      return texts
        .map(({ text }: { text: string }) => /\/console\/invitation\/([\w-]+)/.exec(text)![1]!)
        .find((token: string) => token !== second)!;
    })();
    await sql`update invitations set expires_at = now() where email = ${withdrawn}`;
    await refused(400, "invalid", accepted(third, "a long sentence"));
  });
});

describe("managing people", () => {
  test("is an admin's of this property alone: not a manager's, an analyst's, a key's, or another property's admin's, who may be a manager here", async () => {
    const target = await personOf(service.tenant, "analyst");
    const { body: open } = await invited(address());
    const changes: [string, object][] = [
      ["invite-member", { email: address(), role: "analyst" }],
      ["set-member-role", { user_id: target.id, role: "admin" }],
      ["remove-member", { user_id: target.id }],
      ["withdraw-invitation", { invitation_id: open.id }],
    ];
    const [manager, analyst] = [
      await personOf(service.tenant, "manager"),
      await personOf(service.tenant, "analyst"),
    ];
    const both = await personOf(rival, "admin");
    const here = { property_id: service.tenant.id, user_id: both.id, role: "manager" };
    await service.call("grant_membership", here);
    const before = await membersOf();
    for (const [name, input] of changes) {
      await refused(403, "forbidden", asked(name, input, manager));
      await refused(403, "forbidden", asked(name, input, both));
      await refused(403, "insufficient_scope", asked(name, input, analyst));
      await refused(403, "forbidden", service.post(`/api/functions/${name}`, { ...own(), ...input }));
      await refused(403, "wrong_property", asked(name, input, rivalAdmin));
      // In the rival's own property these people and invitations do not exist.
      const { status } = await service.post(
        `/api/functions/${name}`,
        { property_id: rival.id, ...input },
        as(rivalAdmin),
      );
      expect([name, status]).toEqual([name, name === "invite-member" ? 201 : 404]);
    }
    expect((await membersOf(manager)).members.length).toBe(before.members.length);
    await refused(403, "wrong_property", asked("list-members", {}, rivalAdmin));
    expect(await membersOf()).toEqual(before);
    const there = JSON.stringify(await membersOf(rivalAdmin, rival.id));
    expect(there).not.toContain(target.email);
    expect(there).not.toContain(open.id);
  });

  test("keeps one admin who can sign in, also when two leave at once", async () => {
    const tenant = await service.newTenant();
    const [one, two] = [await personOf(tenant, "admin"), await personOf(tenant, "admin")];
    const leave = (person: Person) =>
      service.post(
        "/api/functions/remove-member",
        { property_id: tenant.id, user_id: person.id },
        as(person),
      );
    const left = await Promise.all([leave(one), leave(two)]);
    expect(left.map(({ status }) => status).sort()).toEqual([200, 409]);
    const last = left[0]!.status === 409 ? one : two;
    const demoted = { property_id: tenant.id, user_id: last.id, role: "analyst" };
    const answer = await refused(
      409,
      "conflict",
      service.post("/api/functions/set-member-role", demoted, as(last)),
    );
    expect(answer.body.error).toContain("last admin");
    // An account that is switched off manages nobody.
    const asleep = await personOf(tenant, "admin");
    await service.call("update_user", { user_id: asleep.id, is_active: false });
    await refused(409, "conflict", leave(last));
  });

  test("ends a removed person's sessions at once, and names the keys that they have made", async () => {
    const [here, both] = [
      await personOf(service.tenant, "manager"),
      await personOf(service.tenant, "manager"),
    ];
    await service.call("grant_membership", { property_id: rival.id, user_id: both.id, role: "analyst" });
    await asked("create-api-key", { name: "hers" }, here);
    const removed = await asked("remove-member", { user_id: here.id });
    expect(removed.body).toMatchObject({ email: here.email, api_keys: [{ name: "hers" }] });
    await refused(401, "invalid_credential", service.get("/api/players", as(here)));
    const login = await sql`select sessions_from from users where id = ${here.id}`;
    expect(login[0]!.sessions_from, "a session from before never works again").not.toBeNull();

    expect((await asked("remove-member", { user_id: both.id })).status).toBe(200);
    await refused(
      403,
      "wrong_property",
      service.get("/api/players", { ...as(both), "X-Property-Id": service.tenant.id }),
    );
    const there = await service.get("/api/players", { ...as(both), "X-Property-Id": rival.id });
    expect(there.status).toBe(200);
  });

  test("by an operator who takes the property from a person ends the person's open invitation too", async () => {
    const person = await service.signIn({ role: null });
    await invited(person.email);
    const link = await linkFor(person.email);
    const membership = { ...own(), user_id: person.id };
    await service.call("grant_membership", { ...membership, role: "analyst" });
    await service.call("revoke_membership", membership);
    await refused(400, "invalid", accepted(link, "a long sentence"));
    expect(await membersOf(person)).toMatchObject({ code: "forbidden" });
  });

  test("changes a role at once", async () => {
    const analyst = await personOf(service.tenant, "analyst");
    await refused(403, "insufficient_scope", service.post("/api/players", { player_id: "R1" }, as(analyst)));
    const { body } = await asked("set-member-role", { user_id: analyst.id, role: "manager" });
    expect(body).toMatchObject({ user_id: analyst.id, role: "manager" });
    expect((await service.post("/api/players", { player_id: "R1" }, as(analyst))).status).toBe(201);
  });

  test("over MCP asks the person first, and gives nobody a role that approves", async () => {
    const call = (name: string, input: object) =>
      onceOverMcp(service, CATALOG.operations.get(name)!, { ...own(), ...input }, as(admin));
    const analyst = await personOf(service.tenant, "analyst");
    const risen = await call("set_member_role", { user_id: analyst.id, role: "manager" });
    expect(risen).toMatchObject({ isError: true, data: { code: "forbidden" } });
    const email = address();
    expect((await call("invite_member", { email, role: "admin" })).data.code).toBe("forbidden");
    const asked = await call("invite_member", { email, role: "analyst" });
    expect(asked.data).toMatchObject({ confirmation_required: true });
    expect(asked.data.message).toContain(`${email} is invited to`);
    expect((await membersOf()).invitations.map((one: { email: string }) => one.email)).not.toContain(email);
    const gone = await call("remove_member", { user_id: analyst.id });
    expect(gone.data).toMatchObject({ confirmation_required: true });
    expect((await membersOf()).members.map((one: { email: string }) => one.email)).toContain(analyst.email);
  });
});
