import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

const page = (input: object = {}) => service.call("list_platform_messages", input);
const keep = (texts: string[]) =>
  service.database.db.asSystem(
    (sql) => sql`
      insert into platform_messages (id, channel, recipient, text)
      select gen_random_uuid(), 'email', 'somebody@example.com', unnest(${texts}::text[])`,
  );

test("the platform's mail goes on page by page, newest first, and the last page says that it is the last", async () => {
  expect(await page()).toEqual({ messages: [], page: { next_cursor: null, has_more: false } });
  // Messages of one transaction have one time.
  await keep(["first", "second", "third"]);
  await keep(["fourth", "fifth"]);
  const seen: string[] = [];
  const more: boolean[] = [];
  let cursor: string | null = "";
  while (cursor !== null) {
    const { messages, page: shown }: Awaited<ReturnType<typeof page>> = await page({ limit: 2, cursor });
    seen.push(...messages.map(({ text }: { text: string }) => text));
    more.push(shown.has_more);
    cursor = shown.next_cursor;
    // A message that comes in meanwhile moves no page.
    await keep(["late"]);
  }
  expect(more).toEqual([true, true, false]);
  expect(seen.slice(0, 2).sort()).toEqual(["fifth", "fourth"]);
  expect(seen.slice(2).sort()).toEqual(["first", "second", "third"]);
});

test.each(["nonsense", "1.2", "99999999999999999999.01a20163-718a-7443-a993-8cb8a55200d1", "1.x'; select 1"])(
  "the cursor %j, which no answer gave, is refused",
  async (cursor) => {
    await expect(page({ cursor })).rejects.toMatchObject({ code: "invalid" });
  },
);
