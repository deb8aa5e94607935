import { afterAll, beforeAll, expect, test } from "vitest";
import { columnsOf } from "#runtime/operation/columns.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { CATALOG } from "#tools/catalog.ts";
import { idFields, inputFor, overMcp, overRest, pointsTo } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { startService, type TestService } from "../../support/service.ts";
import { signedIn } from "../../transports/console/form-browser.ts";
import { consoleRoutes, filledIn } from "../../transports/console/routes.ts";
import { CANARY, plantCanary, SECRETS, withoutRandom } from "./canary.ts";

/** The most records of which an operation is asked without PROOF=full, evenly spread. */
const MOST_RECORDS = 12;
/** A user's requests in a minute are limited. */
const EACH = 150;
const READS = [...CATALOG.operations.values()].filter(
  ({ scope, access, realm }) => scope === "read" && access === "property" && realm === "property",
);

let service: TestService;
let canary: Awaited<ReturnType<typeof plantCanary>>;
/** The ids of the property's records, by their tables. */
const ids = new Map<string, string[]>();
let key: Record<string, string>;

beforeAll(async () => {
  service = await startService();
  canary = await plantCanary(service);
  const { propertyId } = canary;
  for (const { name, verbs } of CATALOG.tables.values()) {
    if (!verbs.includes("list")) continue;
    const { body } = await service.get(`/api/${name}?select=id&limit=30`);
    ids.set(
      name,
      body.map(({ id }: { id: string }) => id),
    );
  }
  const made = await service.call("create_api_key", {
    ...{ property_id: propertyId, name: "masked", pii_masked: true, scopes: ["read"], rate_limit: 1_000_000 },
  });
  key = { "X-Api-Key": made.api_key };
  await service.call("update_property", { propertyId, mask_for_analysts: true });
}, 120_000);
afterAll(async () => {
  canary?.receiver.close();
  await service?.stop();
});

/** The secrets in a text, in any of the forms in which an answer may have them. */
function secretsIn(answer: string): string[] {
  const text = withoutRandom(answer);
  const runs = text.match(/[\w+/-]{16,}={0,2}/g) ?? [];
  const read = runs.map((run) => withoutRandom(Buffer.from(run, "base64").toString()));
  const forms = [text, ...read].join("\n").toLowerCase();
  const spelled = forms.replaceAll(/%([0-9a-f]{2})/g, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return SECRETS.filter((secret) => `${forms}\n${spelled}`.includes(secret.toLowerCase()));
}

/** Inputs that are needed, and fields that are filled in though they are not needed. */
const OPTIONAL = /^(?:id|playerId|campaignId|journeyId|segmentId|enrollmentId)$/;
const NEEDED: Record<string, () => Record<string, unknown>> = {
  read_import_file: () => ({ upload_id: canary.upload }),
  consent_receipt: () => ({ playerId: canary.player, consentId: ids.get("consent_records")!.at(-1) }),
};

/** Inputs of an operation about each of the records that its ids can name. */
function inputsOf(operation: Operation): Record<string, unknown>[] {
  const needed = NEEDED[operation.name]?.() ?? {};
  const given = inputFor(operation);
  const fields = idFields(operation).filter(
    ({ field }) =>
      field !== operation.property && !(field in needed) && (field in given || OPTIONAL.test(field)),
  );
  const most = Math.max(1, ...fields.map(({ field }) => idsOf(operation, field).length));
  const inputs = Array.from({ length: most }, (_, index) => ({
    ...given,
    ...(operation.property && { [operation.property]: canary.propertyId }),
    ...Object.fromEntries(
      fields.flatMap(({ field, many }) => {
        const some = idsOf(operation, field);
        const id = some[index % some.length];
        return id ? [[field, many ? [id] : id]] : [];
      }),
    ),
    ...needed,
  }));
  return "group" in operation.input.shape ? inputs.flatMap((one) => [one, { ...one, group: true }]) : inputs;
}

function idsOf(operation: Operation, field: string): string[] {
  const table =
    field === "id" ? (operation.crud?.table ?? operation.beneath?.table) : pointsTo(operation, field);
  const known = /play/i.test(field) && field === "playId" ? "game_plays" : table?.name;
  return ids.get(known ?? "") ?? [];
}

test("no operation that reads shows a masked key or analyst anything of a person", async () => {
  const told: string[] = [];
  const answered = new Set<string>();
  let token = "";
  let asked = 0;
  for (const operation of READS) {
    const every = operation.crud?.verb === "list" && {
      select: Object.keys(columnsOf(operation.crud.table)).join(","),
    };
    const look = (face: string, text: string) => {
      const seen = secretsIn(text);
      if (seen.length > 0)
        told.push(`${operation.name} over ${face}: ${seen.join()} in ${text.slice(0, 1500)}`);
    };
    const inputs = inputsOf(operation);
    // Odd, because every second input may be a grouped one.
    const step = isFull ? 1 : Math.ceil(inputs.length / MOST_RECORDS) | 1;
    for (const [index, input] of inputs.filter((_, at) => at % step === 0).entries()) {
      const wide = { ...input, ...every };
      const said = await overMcp(service, operation, wide, key);
      if (!said.isError) answered.add(operation.name);
      look("MCP", JSON.stringify(said.data));
      // Both are masked in one place: of the records of an operation the analyst asks for one in five.
      if (isFull || index % 5 === 0) {
        if (asked++ % EACH === 0) ({ token } = await service.signIn({ role: "analyst" }));
        const headers = { "X-Api-Key": null, Authorization: `Bearer ${token}` };
        look("REST", (await overRest(service, operation, wide, headers)).text);
      }
    }
  }
  expect(told).toEqual([]);
  // Refused altogether: see its own tests.
  answered.add("find_duplicate_players");
  const silent = READS.filter(({ name, file, zipped }) => !file && !zipped && !answered.has(name)).map(
    ({ name }) => name,
  );
  expect(silent, "Make a record for it in canary.ts, or an input here: nothing was read.").toEqual([]);
}, 240_000);

test("no resource over MCP shows a masked key anything of a person", async () => {
  const told: string[] = [];
  let read = 0;
  const schemes: Record<string, string> = {
    player: "players",
    campaign: "campaigns",
    segment: "segments",
    template: "templates",
    journey: "journeys",
    game: "games",
    import: "import_jobs",
  };
  for (const [scheme, table] of Object.entries(schemes)) {
    for (const id of ids.get(table) ?? []) {
      const params = { uri: `${scheme}://${id}` };
      const { text } = await service.request("POST", "/api/mcp", {
        body: { jsonrpc: "2.0", id: 1, method: "resources/read", params },
        headers: { Accept: "application/json, text/event-stream", ...key },
      });
      if (text.includes("contents")) read += 1;
      const seen = secretsIn(text);
      if (seen.length > 0) told.push(`${params.uri}: ${seen.join()} in ${text}`);
    }
  }
  expect(told).toEqual([]);
  expect(read).toBeGreaterThan(5);
});

test("no page of the console shows a masked analyst anything of a person", async () => {
  const told: string[] = [];
  let one = await signedIn(service, { role: "analyst" });
  let read = 0;
  // One in three without PROOF=full: of a page about eight records, another two or three for each page.
  for (const at of [...pages()].filter((_, index) => isFull || index % 3 === 0)) {
    if (read % EACH === 0) one = await signedIn(service, { role: "analyst" });
    const { status, text } = await one.get(`${at}?q=C-1&player=C-1`);
    if (status === 200) read += 1;
    // Pictures in a page are no text.
    const seen = secretsIn(text.replaceAll(/[\w+/-]{200,}/g, ""));
    if (seen.length > 0) told.push(`${at}: ${seen.join()}`);
  }
  expect(told).toEqual([]);
  expect(read).toBeGreaterThan(isFull ? 180 : 60);
}, 240_000);

/** The addresses of the console's pages, about several records each, and of each table and record. */
function pages(): Set<string> {
  const routes = consoleRoutes(service).filter(
    ({ method, path }) => method === "GET" && !/live|records|invitation\/|\*/.test(path),
  );
  const about = (index: number) => (table: string) => {
    const some = ids.get(table) ?? [];
    return some[index % (some.length || 1)] ?? canary.player;
  };
  return new Set([
    ...routes.flatMap(({ path }) => Array.from({ length: 8 }, (_, index) => filledIn(path, about(index)))),
    ...[...ids].flatMap(([table, some]) =>
      ["", ...some.slice(0, 8).map((id) => `/${id}`)].map((id) => `/console/records/${table}${id}`),
    ),
  ]);
}

test.each([
  "records/players?column=first_name&operator=like&value=Zyx*",
  "records/players?column=email&operator=ilike&value=zyx*",
  "records/players?column=postal_code&operator=gt&value=0",
  "records/inbound_messages?column=text&operator=like&value=Pargle*",
  "players?q=zyxabel",
  "players?q=Quorvendish",
  "players?q=zyxabel.quorvendish",
])("an analyst cannot guess by the console's %s", async (path) => {
  const one = await signedIn(service, { role: "analyst" });
  const { text } = await one.get(`/console/${path}`);
  const found = [...ids.get("players")!, ...ids.get("inbound_messages")!].filter((id) => text.includes(id));
  expect(found).toEqual([]);
});

test("an analyst finds a player in the console by the whole address", async () => {
  const one = await signedIn(service, { role: "analyst" });
  const { text } = await one.get(`/console/players?q=${encodeURIComponent(CANARY.email)}`);
  expect(text).toContain(canary.player);
});
