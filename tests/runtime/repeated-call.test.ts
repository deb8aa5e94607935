import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { invoke } from "#runtime/funnel/invoke.ts";
import { type Context, Stale } from "#runtime/operation/context.ts";
import { tool } from "#runtime/operation/operation.ts";
import { startService, type TestService } from "../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService({ role: "web" });
});
afterAll(() => service?.stop());

const Answer = z.object({ left: z.int().describe("Milliseconds") });

/** Calls an operation whose attempts end as told; the last one answers the time that its statements may take. */
async function called(attempts: ((context: Context) => Promise<unknown>)[]) {
  const waiting = [...attempts];
  const operation = tool({
    name: "be_ended",
    title: "Be ended",
    description: "Ends as told.",
    scope: "write",
    effect: "change",
    property: "propertyId",
    input: { propertyId: z.uuid() },
    output: Answer,
    faults: [],
    async handler(context) {
      await waiting.shift()?.(context);
      const [row] = await context.sql<[{ left: number }]>`
        select setting::int as left from pg_settings where name = 'statement_timeout'`;
      return { left: row.left };
    },
  });
  const call = {
    actor: { type: "system", id: null },
    transport: "cli",
    requestId: randomUUID(),
    propertyId: service.tenant.id,
  } as const;
  const { body } = await invoke(service.internals, operation, call, { propertyId: service.tenant.id });
  return Answer.parse(JSON.parse(body));
}

const ended = ({ sql }: Context) => sql`do $$ begin raise exception using errcode = '40P01'; end $$`;
const SECOND = 1_000;

test("a call that runs again keeps the deadline with which it came", async () => {
  const { left } = await called([]);
  const again = await called([
    async ({ sql }) => {
      await sql`select pg_sleep(1)`;
      throw new Stale();
    },
  ]);
  expect(again.left).toBeLessThanOrEqual(left - SECOND);
});

test("a call that PostgreSQL ends for others runs again, not once alone", async () => {
  const { left } = await called([]);
  expect((await called([ended, ended, ended])).left).toBeLessThan(left);
});

test("a call whose time is over is not run again", async () => {
  const ran: string[] = [];
  const slow = async (context: Context) => {
    await context.sql`select pg_sleep(4.5)`;
    throw new Stale();
  };
  await expect(called([slow, async () => ran.push("again")])).rejects.toMatchObject({ code: "unavailable" });
  expect(ran).toEqual([]);
});
