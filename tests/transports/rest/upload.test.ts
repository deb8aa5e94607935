import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { Fault } from "#runtime/faults.ts";
import listImportErrors from "#tools/imports/list-import-errors.ts";
import { MOST_FILE, receiveFile } from "#tools/imports/upload.ts";
import { receiveParts, receiveText, type Store } from "#transports/rest/upload-body.ts";
import { refused } from "../../support/answers.ts";
import { overMcp } from "../../support/operation-calls.ts";
import { isFull } from "../../support/proof-size.ts";
import { type Imports, manyPlayers, openImports } from "../../tools/imports/scenario.ts";

let imports: Imports;
beforeAll(async () => {
  imports = await openImports();
});
afterAll(() => imports.stop());

const CSV = "player_id,Mail\nT1,t1@example.com\nT2,bad\n";

function form(file: string | null, params: unknown, order: "file" | "params" = "file"): FormData {
  const body = new FormData();
  const parts = {
    file: () => file !== null && body.append("file", new Blob([file], { type: "text/csv" }), "players.csv"),
    params: () =>
      params !== undefined &&
      body.append("params", typeof params === "string" ? params : JSON.stringify(params)),
  };
  for (const part of order === "file" ? (["file", "params"] as const) : (["params", "file"] as const))
    parts[part]();
  return body;
}

/** As fetch sends it: the Content-Type has the boundary. */
const post = (body: FormData, headers: Record<string, string> = {}) =>
  fetch(`${imports.service.baseUrl}/api/import_jobs`, {
    method: "POST",
    body,
    headers: { "X-Api-Key": imports.service.tenant.key, ...headers },
  });

const uploads = () => imports.as((sql) => sql`select id from uploads`);

test.each(["file", "params"] as const)("a form whose %s comes first is imported", async (order) => {
  const answer = await post(form(CSV, { mapping: { Mail: "email" } }, order));
  const body = (await answer.json()) as { id: string };
  expect([answer.status, answer.headers.get("location")]).toEqual([202, `/api/import_jobs/${body.id}`]);
  const { job, errors } = await imports.result(body.id);
  expect(job).toMatchObject({ status: "completed", succeeded: 1, failed: 1 });
  expect(errors).toMatchObject([{ row: 2, code: "invalid_email", value: "bad" }]);
});

test("a CSV body is imported with its parameters in the query", async () => {
  const query = `?mapping=${encodeURIComponent('{"Mail":"email"}')}&tags=a,b&dry_run=false&match_on=email`;
  const { job } = await imports.send(CSV, query);
  expect(job).toMatchObject({
    status: "completed",
    failed: 1,
    params: { tags: ["a", "b"], match_on: ["email"] },
  });
});

test("a form that cannot be read is a 400 in JSON, and leaves no file behind", async () => {
  const twice = form(CSV, {});
  twice.append("file", new Blob([CSV]), "again.csv");
  const unknown = form(CSV, {});
  unknown.append("extra", "1");
  for (const body of [
    form(null, {}),
    form(CSV, "{bad"),
    form(CSV, { mapping: { Mail: "nothing" } }),
    form(CSV, { upload_id: "x" }),
    form(CSV, { nope: 1 }),
    twice,
    unknown,
  ]) {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "invalid", error: expect.any(String) });
    expect(answer.headers.get("api-version")).toBeTruthy();
  }
  for (const [type, text] of [
    ["multipart/form-data", "x"],
    ["multipart/form-data; boundary=abc", "garbage"],
    [
      "multipart/form-data; boundary=abc",
      '--abc\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nplayer_id\n1',
    ],
  ] as const) {
    const answer = await imports.service.request("POST", "/api/import_jobs", {
      body: text,
      headers: { "Content-Type": type },
    });
    expect([type, answer.status, typeof answer.body?.error]).toEqual([type, 400, "string"]);
  }
  expect(await uploads()).toEqual([]);
});

test("a body that says it is too large is refused before it is read, in JSON", async () => {
  const socket = connect(Number(new URL(imports.service.baseUrl).port), "127.0.0.1");
  const size = MOST_FILE + 2 * 1_048_576;
  socket.write(
    `POST /api/import_jobs HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${imports.service.tenant.key}\r\nContent-Type: text/csv\r\nContent-Length: ${size}\r\n\r\nplayer_id\n`,
  );
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  expect(text).toMatch(/^HTTP\/1.1 413 /);
  expect(text).toContain('"code":"too_large"');
  expect(await uploads()).toEqual([]);
});

/** A body that never says how long it is, of one block again and again. */
function endless(block: Buffer, blocks: number, before = "", after = ""): IncomingMessage {
  function* parts() {
    yield Buffer.from(before);
    for (let count = 0; count < blocks; count += 1) yield block;
    yield Buffer.from(after);
  }
  const headers = { "content-type": "multipart/form-data; boundary=x" };
  return Object.assign(Readable.from(parts(), { objectMode: false }), {
    headers,
    complete: true,
  }) as unknown as IncomingMessage;
}

describe("a body that turns out too large on the way", () => {
  const block = Buffer.alloc(1_048_576, "player,row,with,some,cells\n");
  const [most, more] = [MOST_FILE / block.length, MOST_FILE / block.length + 1];
  const part = '--x\r\nContent-Disposition: form-data; name="file"; filename="p.csv"\r\n\r\n';
  const read = async (receive: (store: Store) => Promise<unknown>) => {
    let size = 0;
    await receive(async (file) => {
      for await (const chunk of file) size += chunk.length;
    });
    return size;
  };

  test.each([
    ["text", (blocks: number) => (store: Store) => receiveText(endless(block, blocks), store)],
    [
      "a form",
      (blocks: number) => (store: Store) =>
        receiveParts(endless(block, blocks, part, "\r\n--x--\r\n"), store),
    ],
  ])("is refused where it is %s, and taken as long as it may be", async (_, of) => {
    expect(await read(of(most))).toBe(MOST_FILE);
    await expect(read(of(more))).rejects.toMatchObject({ code: "too_large" });
  });

  test("keeps its connection for the answer", async () => {
    const body = endless(block, more);
    await expect(read((store) => receiveText(body, store))).rejects.toMatchObject({ code: "too_large" });
    expect(body.destroyed).toBe(false);
    body.destroy();
  });

  // The service reads the whole of what a file may have, 200 MB.
  test.runIf(isFull)(
    "is refused over a connection too, and nothing of it stays",
    async () => {
      const socket = connect(Number(new URL(imports.service.baseUrl).port), "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.on("error", () => {});
      socket.setMaxListeners(0);
      socket.write(
        `POST /api/import_jobs HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${imports.service.tenant.key}\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      for (let sent = 0; sent <= MOST_FILE + block.length && text === ""; sent += block.length) {
        const next = socket.write(
          Buffer.concat([Buffer.from(`${block.length.toString(16)}\r\n`), block, Buffer.from("\r\n")]),
        );
        if (!next) await Promise.race([once(socket, "drain"), once(socket, "close")]);
      }
      await vi.waitFor(() => expect(text).toMatch(/^HTTP\/1.1 413 /), { timeout: 10_000 });
      socket.destroy();
      expect(await uploads()).toEqual([]);
    },
    60_000,
  );
});

test("a file whose reading is refused in the middle leaves nothing behind", async () => {
  const { id } = imports.service.tenant;
  const chunk = Buffer.alloc(600_000, "a,b\n");
  let kept = 0;
  const file = (async function* () {
    yield chunk;
    kept = (await imports.as((sql) => sql`select seq from upload_chunks`)).length;
    throw new Fault("too_large");
  })();
  const upload = { propertyId: id, id: crypto.randomUUID(), filename: null };
  const { db } = imports.service.database;
  await expect(receiveFile(db, upload, file)).rejects.toMatchObject({ code: "too_large" });
  expect([kept, await uploads()]).toEqual([1, []]);
});

test("a sender that goes away in the middle leaves nothing behind", async () => {
  const socket = connect(Number(new URL(imports.service.baseUrl).port), "127.0.0.1");
  socket.write(
    `POST /api/import_jobs HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${imports.service.tenant.key}\r\nContent-Type: text/csv\r\nContent-Length: 5000000\r\n\r\n`,
  );
  socket.write(Buffer.alloc(1_000_000, "a,b\n"));
  await vi.waitFor(async () => expect(await uploads()).toHaveLength(1), { timeout: 10_000 });
  socket.destroy();
  await vi.waitFor(async () => expect(await uploads()).toHaveLength(0), { timeout: 10_000 });
});

test("the same form with the same Idempotency-Key is imported once, another form is refused", async () => {
  const headers = { "Idempotency-Key": "import-1" };
  const first = await post(form(CSV, { tags: ["k"] }), headers);
  const again = await post(form(CSV, { tags: ["k"] }), headers);
  expect([first.status, again.status, again.headers.get("idempotency-replayed")]).toEqual([202, 202, "true"]);
  expect(((await again.json()) as { id: string }).id).toBe(((await first.json()) as { id: string }).id);
  expect((await post(form(`${CSV}T3,\n`, { tags: ["k"] }), headers)).status).toBe(422);
  await imports.service.idle();
  expect(await uploads()).toEqual([]);
});

test("a file needs a key that may write, before a byte of it is kept", async () => {
  for (const [key, status] of [
    [imports.service.tenant.readKey, 403],
    ["pk_wrong", 401],
  ] as const) {
    expect((await post(form(CSV, {}), { "X-Api-Key": key })).status).toBe(status);
  }
  expect(await uploads()).toEqual([]);
});

test("a file that is sent keeps to what Prefer and If-Match ask for, as its JSON does", async () => {
  const { service } = imports;
  const csv = { "Content-Type": "text/csv", "X-Api-Key": service.tenant.key };
  const sent = {
    form: (headers: object) => post(form(CSV, { mapping: { Mail: "email" } }), { ...headers }),
    text: (headers: object) =>
      fetch(`${service.baseUrl}/api/import_jobs`, {
        method: "POST",
        body: CSV,
        headers: { ...csv, ...headers },
      }),
    json: (headers: object) => service.post("/api/import_jobs", { csv: CSV }, { ...headers }),
  };
  await service.idle();
  const jobs = async () => (await service.get("/api/import_jobs?limit=1000")).body.length;
  const before = await jobs();
  const kept = (await uploads()).length;
  for (const [by, send] of Object.entries(sent)) {
    for (const headers of [
      { Prefer: "tx=rollback" },
      { Prefer: "handling=strict, unheard=of" },
      { Prefer: "resolution=merge-duplicates" },
      { "If-Match": "*" },
    ]) {
      expect((await send(headers)).status, `${by} ${JSON.stringify(headers)}`).toBe(400);
    }
  }
  expect([await jobs(), (await uploads()).length]).toEqual([before, kept]);
  for (const [by, send] of Object.entries(sent)) {
    const shown = await send({ Prefer: "return=representation, count=exact" });
    const body = by === "json" ? (shown as { body: unknown }).body : await (shown as Response).json();
    expect([shown.status, shown.headers.get("content-range"), body], by).toEqual([
      ...[202, "*/1", [expect.objectContaining({ type: "player_import" })]],
    ]);
    expect(shown.headers.get("location")).toMatch(/^\/api\/import_jobs\/[0-9a-f-]{36}$/);
  }
  const minimal = await sent.form({ Prefer: "return=minimal" });
  expect([minimal.status, await minimal.text()]).toEqual([202, ""]);
  expect(minimal.headers.get("location")).toMatch(/^\/api\/import_jobs\/[0-9a-f-]{36}$/);
  await service.idle();
});

test("refused rows are counted, given as one object or refused as Prefer and Accept ask, as every list is", async () => {
  const { service } = imports;
  const { job } = await imports.send("player_id,email\nN1,bad\nN2,bad\nN3,bad\n");
  const path = `/api/import_jobs/${job.id}/errors`;
  const rangeOf = async (query: string, prefer = "count=exact") =>
    (await service.get(path + query, { Prefer: prefer })).headers.get("content-range");
  expect(await rangeOf("?limit=2")).toBe("0-1/3");
  expect(await rangeOf("?limit=2&offset=2", "count=planned")).toBe("2-2/3");
  expect(await rangeOf("?offset=9")).toBe("*/3");
  expect(await rangeOf("?limit=2", "return=minimal")).toBe(null);
  const first = await service.get(`${path}?limit=2`);
  expect(await rangeOf(`?limit=2&cursor=${first.headers.get("X-Next-Cursor")}`)).toBe("*/3");
  for (const prefer of ["tx=rollback", "handling=strict, unheard=of"]) {
    expect((await service.get(path, { Prefer: prefer })).status, prefer).toBe(400);
  }
  const object = { Accept: "application/vnd.pgrst.object+json" };
  expect((await service.get(`${path}?limit=1`, object)).body).toMatchObject({
    row: 1,
    code: "invalid_email",
  });
  expect((await service.get(path, object)).status).toBe(406);
  const asked = await service.post("/api/functions/list-import-errors", {
    id: job.id,
    count: true,
    limit: 1,
  });
  expect([asked.body.length, asked.headers.get("content-range")]).toEqual([1, "*/3"]);
  const told = await overMcp(service, listImportErrors, { id: job.id, count: true, limit: 1 });
  expect(told.data).toMatchObject({ page: { has_more: true, total: 3 } });
});

test("refused rows are paged, and come as CSV when asked", async () => {
  const { job } = await imports.send("player_id,email\nB1,=bad\nB2,bad\nB3,bad\n");
  const path = `/api/import_jobs/${job.id}/errors`;
  expect((await imports.service.get(`${path}?limit=1&offset=1`)).body).toMatchObject([{ row: 2 }]);
  const csv = await imports.service.get(`${path}?format=csv`);
  expect(csv.headers.get("content-type")).toContain("text/csv");
  expect(csv.text.split("\n")[0]).toBe("row,column,code,message,value,original_row");
  expect(csv.text).toContain("'=bad");
  expect((await imports.service.get(path, { Accept: "text/csv" })).text).toBe(csv.text);
  for (const query of ["?format=xml", "?limit=0", "?nope=1"])
    expect((await imports.service.get(path + query)).status).toBe(400);
  expect((await imports.service.get(`/api/import_jobs/${crypto.randomUUID()}/errors`)).status).toBe(404);
});

test("refused rows by the hundred are never cut silently: pages go on by cursor, and the file is whole", async () => {
  const { service } = imports;
  const lines = Array.from({ length: 120 }, (_, row) => `C${row},bad\n`);
  const { job } = await imports.send(`player_id,email\n${lines.join("")}`);
  const path = `/api/import_jobs/${job.id}/errors`;
  const seen: number[] = [];
  let next: string | null = `${path}?limit=50`;
  while (next) {
    const page: Awaited<ReturnType<typeof service.get>> = await service.get(next);
    expect(page.body.length, page.text).toBeLessThanOrEqual(50);
    seen.push(...page.body.map(({ row }: { row: number }) => row));
    next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get("link") ?? "")?.[1] ?? null;
  }
  expect(seen).toEqual(lines.map((_, row) => row + 1));
  expect((await service.get(`${path}?format=csv`)).text.trim().split("\n")).toHaveLength(121);
  const asFunction = await service.post("/api/functions/list-import-errors", { id: job.id });
  expect([asFunction.body.length, asFunction.headers.get("X-Next-Cursor")]).toEqual([50, expect.any(String)]);
  const told = await overMcp(service, listImportErrors, { id: job.id, format: "items" });
  const { page, items } = told.data as { page: { next_cursor: string; has_more: boolean }; items: unknown[] };
  expect([items.length, page.has_more]).toEqual([50, true]);
  const rest = await overMcp(service, listImportErrors, { id: job.id, limit: 70, cursor: page.next_cursor });
  expect(rest.data).toMatchObject({ page: { next_cursor: null, has_more: false } });
  for (const query of [
    "cursor=nonsense",
    "cursor=1.2&offset=1",
    "cursor=99999999999.1",
    "format=csv&limit=1",
  ])
    expect((await service.get(`${path}?${query}`)).status, query).toBe(400);
});

test("a file of many chunks comes in whole", async () => {
  // Long addresses, so that few players are several chunks.
  const wide = manyPlayers(4_000).replaceAll("@example.com", `@${"a-long-name.".repeat(18)}example.com`);
  expect(wide.length).toBeGreaterThan(1_000_000);
  const { job } = await imports.send(wide);
  expect(job).toMatchObject({ status: "completed", total: 4_000, created_count: 4_000 });
});

describe("a form with a file", () => {
  const posted = (...parts: string[]) =>
    imports.service.post(
      "/api/import_jobs",
      `${parts.map((part) => `--x\r\n${part}\r\n`).join("")}--x--\r\n`,
      {
        "Content-Type": "multipart/form-data; boundary=x",
      },
    );
  const file = (name = "p.csv") =>
    `Content-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: text/csv\r\n\r\nplayer_id\nF1`;
  const params = 'Content-Disposition: form-data; name="params"\r\n\r\n{}';

  test("is refused with params twice, a nameless part, or NUL in the filename", async () => {
    expect((await posted(file(), params)).status).toBe(202);
    const said = async (answer: ReturnType<typeof posted>) =>
      (await refused(400, "invalid", answer)).body.error as string;
    expect(await said(posted(file(), params, params))).toContain("params once");
    expect(
      await said(posted(params, params.replace('"params"', '"params"; filename="p.json"'), file())),
    ).toContain("params once");
    expect(await said(posted(file(), "Content-Disposition: form-data\r\n\r\nlost"))).toContain("no name");
    expect(await said(posted('Content-Disposition: form-data; filename="a"\r\n\r\nlost'))).toContain(
      "no name",
    );
    expect(await said(posted(file("a\0b.csv")))).toContain("filename");
  });

  test("whose column has a name that reaches into objects is refused", async () => {
    for (const column of ["custom.__proto__", "custom.constructor", "__proto__"]) {
      const { body } = await imports.service.post("/api/import_jobs", { csv: `player_id,${column}\nX1,5\n` });
      await imports.service.idle();
      const { body: job } = await imports.service.get(`/api/import_jobs/${body.id}`);
      expect(job, column).toMatchObject({ status: "failed", error: expect.stringContaining(column) });
    }
    expect((await imports.service.get("/api/players?player_id.eq=X1")).body).toEqual([]);
  });
});
