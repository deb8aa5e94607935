import type { AddressInfo } from "node:net";
import { serve as listen } from "@hono/node-server";
import { and, desc, eq, isNull, sql } from "drizzle-orm";
import { boolean, date, doublePrecision, jsonb, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
import { drizzle } from "drizzle-orm/postgres-js";
import { Hono } from "hono";
import postgres from "postgres";
import type { ColumnType } from "#db/query/readable-table.ts";
import { columns, databaseUrl, POOL, property } from "./players.ts";
import { serve } from "./serve.ts";

const BUILDERS: Partial<Record<ColumnType, () => ReturnType<typeof text>>> = {
  uuid: uuid as never,
  timestamptz: (() => timestamp({ withTimezone: true })) as never,
  date: date as never,
  boolean: boolean as never,
  "double precision": doublePrecision as never,
  jsonb: jsonb as never,
  "text[]": (() => text().array()) as never,
};

const stored = Object.entries(columns).filter(([, { sql: computed }]) => computed === undefined);
const players = pgTable(
  "players",
  Object.fromEntries(stored.map(([name, { type }]) => [name, BUILDERS[type]?.() ?? text()])),
);
const computed = Object.entries(columns).flatMap(([name, column]) =>
  column.sql ? [[name, sql.raw(column.sql).as(name)] as const] : [],
);
const selected = { ...players, ...Object.fromEntries(computed) };
delete (selected as Record<string, unknown>).enableRLS;

const db = drizzle(postgres(databaseUrl, { max: POOL }));
const app = new Hono();

app.get("/players", async (c) => {
  const rows = await db
    .select(selected)
    .from(players)
    .where(
      and(
        eq(players.property_id!, property),
        eq(players.tier!, c.req.query("tier")!),
        isNull(players.deleted_at!),
      ),
    )
    .orderBy(desc(players.created_at!), desc(players.id!))
    .limit(50);
  return c.json(rows);
});

listen({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }: AddressInfo) => serve(port));
