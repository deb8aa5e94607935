import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { inProcess, wordsOf } from "../../support/command-line.ts";
import { overMcp, overRest } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { plantRows } from "../planted-rows.ts";
import { apart, inputOn, masked, printed, type Said, type Twin, untimed } from "./twins.ts";

/**
 * The operations that no API key may call: they are a signed-in person's, or the operator's. A person's own decisions have no
 * other face than REST and the console: see tests/tools/approvals.
 */
const PERSONAL = [...CATALOG.operations.values()].filter(
  ({ access }) => access !== "property" && access !== "public" && access !== "person",
);

interface Place extends Twin {
  /** Sessions of an admin of the property, and of a platform admin. */
  admin: string;
  operator: string;
  /** A user and a key for the operations to work on. */
  user: string;
  key: string;
}

let service: TestService;
let places: Place[];

beforeAll(async () => {
  // Without a worker, so that only the faces change anything.
  service = await startService({ role: "web" });
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} });
  places = [];
  for (let face = 0; face < (isFull ? 4 : 3); face++) places.push(await newPlace(sql));
  await sql.end();
});

afterAll(() => service?.stop());

async function newPlace(sql: postgres.Sql): Promise<Place> {
  const tenant = await service.newTenant();
  const property_id = tenant.id;
  const admin = await service.signIn({ role: null });
  const user = await service.signIn({ role: null });
  await service.call("grant_membership", { property_id, user_id: admin.id, role: "admin" });
  await service.call("grant_membership", { property_id, user_id: user.id, role: "analyst" });
  const key = await service.call("create_api_key", { property_id, name: "to be revoked" });
  const { token: operator } = await service.signIn({ role: null, platformAdmin: true });
  const planted = await plantRows(sql, tenant.id);
  return { tenant, planted, admin: admin.token, operator, user: user.id, key: key.id };
}

function input(operation: Operation, place: Place): Record<string, unknown> {
  const { slug } = place.tenant;
  const given: Record<string, object> = {
    create_user: { email: `u-${slug.slice(2)}@example.com` },
    create_property: { slug: `p-${slug.slice(2).split("").reverse().join("")}` },
    invite_member: { email: "guest@example.com", role: "analyst" },
    set_member_role: { user_id: place.user, role: "analyst" },
    remove_member: { user_id: place.user },
    grant_membership: { user_id: place.user, role: "manager" },
    list_platform_audit_logs: { limit: 5 },
    revoke_api_key: { key_id: place.key },
    revoke_membership: { user_id: place.user },
    get_preferences: { sendId: place.planted.get("campaign_sends")!.id },
    mark_inbox_messages: { ids: [place.planted.get("inbox_messages")!.id] },
    save_preferences: { sendId: place.planted.get("campaign_sends")!.id },
    set_property_theme: { name: "Another name" },
    update_property: { name: "Another name" },
    update_user: { user_id: place.user, name: "Ann" },
  };
  return { ...inputOn(operation, place), ...given[operation.name] };
}

const tokenOf = ({ access }: Operation, { admin, operator }: Place) =>
  access === "operator" ? operator : admin;

function headersOf(operation: Operation, place: Place) {
  const Authorization = `Bearer ${tokenOf(operation, place)}`;
  return { "X-Api-Key": null, Authorization, "X-Property-Id": place.tenant.id };
}

async function byRest(operation: Operation, place: Place): Promise<Said> {
  const { status, body } = await overRest(
    service,
    operation,
    input(operation, place),
    headersOf(operation, place),
  );
  return status >= 400 ? { code: body.code, data: body.error } : { code: null, data: body };
}

async function byMcp(operation: Operation, place: Place): Promise<Said> {
  const list = operation.output.type === "array";
  const asked = { ...input(operation, place), ...(list && { format: "items" }) };
  const { isError, data } = await overMcp(service, operation, asked, headersOf(operation, place));
  if (isError) return { code: String(data.code), data: data.message };
  // REST gives warnings in a header of their own, and the command line prints them beside the answer.
  const { audit_id: _, notes: __, ...rest } = data;
  return { code: null, data: list ? rest.items : rest };
}

async function byUrl(operation: Operation, place: Place): Promise<Said> {
  const at = ["--service-url", service.baseUrl, "--api-key", tokenOf(operation, place)];
  return byCli(operation, place, at);
}

/** The command line on the machine is the operator's, who may do what everybody may. */
async function byCli(operation: Operation, place: Place, at: string[] = []): Promise<Said> {
  const words = [...wordsOf(operation, input(operation, place)), "--json", "--property", place.tenant.id];
  return printed(operation, await inProcess(service, [...words, ...at]));
}

const comparable = (said: Said): Said => {
  const text = JSON.stringify(masked(untimed(said)))
    .replace(/\bu-[0-9a-f]{8}-[0-9a-f]{4}@example\.com/g, "<email>")
    .replace(/\bpk_\w+/g, "<key>");
  return JSON.parse(text) as Said;
};

/** Reading operations run first, before their lists change. Removals run last, and the keys of all sessions. */
const turnOf = ({ name, effect }: Operation) =>
  name === "rotate_signing_key" ? 3 : effect === "destroy" ? 2 : effect === "read" ? 0 : 1;

test("every face says and does the same for a person who has signed in, on properties that are alike", async () => {
  const told: string[] = [];
  const refused: string[] = [];
  const order = PERSONAL.toSorted((a, b) => turnOf(a) - turnOf(b));
  for (const [index, operation] of order.entries()) {
    const rest = comparable(await byRest(operation, places[0]!));
    if (rest.code !== null) refused.push(operation.name);
    if (rest.code === "internal") told.push(`${operation.name}: internal`);
    const [, other, third, fourth = third] = places as [Place, Place, Place, Place?];
    const compare = (face: string, said: Said) => {
      const [here, there] = apart(rest, comparable(said));
      if (here !== there) told.push(`${operation.name}: …${here}, and by ${face} …${there}`);
    };
    compare("MCP", await byMcp(operation, other));
    // A person on the machine is not a user.
    const isElsewhere = isFull || index % 2 === 0 || operation.name === "me";
    if (isElsewhere) compare("the command line elsewhere", await byUrl(operation, fourth));
    if (operation.name !== "me" && (isFull || !isElsewhere)) {
      compare("the command line", await byCli(operation, third));
    }
  }
  expect(told).toEqual([]);
  expect(PERSONAL.length).toBeGreaterThan(20);
  // Sending is open here, no job has failed for good, and the play is another player's. The player is barred from web
  // push. The user's role has been revoked before they are removed, and nobody knows the invitation.
  expect(refused.sort()).toEqual([
    ...["release_sending", "remove_member", "retry_job", "show_game_play", "subscribe_push"],
    "withdraw_invitation",
  ]);
});
