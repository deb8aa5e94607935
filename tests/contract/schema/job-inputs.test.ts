import postgres from "postgres";
import { expect, test } from "vitest";
import { z } from "zod";
import { CATALOG } from "#tools/catalog.ts";
import { QueuedNotice } from "#tools/providers/notice.ts";
import { testDatabase } from "../../support/database.ts";

/** Fields of jobs and of vendors' notices that say nothing of a person: ids, times and counts, words of ours, hashes. */
const IMPERSONAL = [
  ...[
    "after",
    "campaignId",
    "endpointId",
    "eventId",
    "gameId",
    "invitationId",
    "jobId",
    "journeyId",
    "messageId",
    "playId",
    "playerId",
    "proposalId",
    "providerId",
    "segmentId",
    "sendId",
    "sendIds",
    "userId",
  ],
  ...["at", "backfill", "cost", "currency", "gaveWay", "month", "permanent", "rows", "seconds", "version"],
  ...["answeredBy", "channel", "code", "kept", "kind", "node", "optOut", "result", "state"],
  ...["content", "hashes", "notices", "url"],
];

/** The fields of an object, or of any form of a union. */
function fieldsOf(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodObject) return Object.keys(schema.shape);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => fieldsOf(one as z.ZodType));
  throw new Error(`the form ${schema.type} has no fields that are known here`);
}

test("of a job that has failed for good no field stays that may tell of a person", async () => {
  const inputs = [...CATALOG.jobs.values()].flatMap(({ input }) => fieldsOf(input));
  const fields = [...new Set([...inputs, ...fieldsOf(QueuedNotice)])];
  const database = await testDatabase();
  const admin = postgres(database.url, { max: 1, onnotice: () => {} });
  const [row] = await admin<{ kept: string[]; inside: string[] }[]>`
    with given as (select jsonb_object_agg(f, 'x') as fields from unnest(${fields}::text[]) f)
    select array(select jsonb_object_keys(impersonal(fields)) order by 1) as kept,
      array(select jsonb_object_keys(impersonal(jsonb_build_object('notices', jsonb_build_array(fields - 'notices'))) -> 'notices' -> 0) order by 1) as inside
    from given`;
  await admin.end();
  await database.drop();
  expect(
    row!.kept,
    "Name the field in IMPERSONAL here, or in the function `impersonal` (db/migrations/0004_queue.sql).",
  ).toEqual([...IMPERSONAL].sort());
  expect(row!.inside).toEqual(row!.kept.filter((field) => field !== "notices"));
});
