import type { AddressInfo } from "node:net";
import { serve as listen } from "@hono/node-server";
import { Hono } from "hono";
import postgres from "postgres";
import { naiveCreate } from "./naive-create.ts";
import { COLUMNS, databaseUrl, POOL, property } from "./players.ts";
import { serve } from "./serve.ts";

// Bare hono and postgres.js: no credential, no tenancy, no limits.
const sql = postgres(databaseUrl, { max: POOL });
const app = new Hono();

app.get("/nothing", (c) => c.json({ ok: true }));

app.get("/players", async (c) => {
  const rows = await sql`
    select ${sql.unsafe(COLUMNS)} from players
    where property_id = ${property} and tier = ${c.req.query("tier")!} and deleted_at is null
    order by created_at desc, id desc limit 50`;
  return c.json(rows);
});

// The ids alone, which the index has: no list of whole rows can be faster.
app.get("/deep", async (c) => {
  const rows = await sql`
    select id from players where property_id = ${property} and deleted_at is null
    order by created_at desc, id desc limit 50 offset ${c.req.query("offset")!}`;
  return c.json(rows);
});

// An index of substrings is read as a bitmap only.
const unindexed = postgres(databaseUrl, { max: POOL, connection: { enable_bitmapscan: "off" } as never });

app.get("/search", async (c) => {
  const rows = await unindexed`
    select ${sql.unsafe(COLUMNS)} from players
    where property_id = ${property} and deleted_at is null and email ilike ${c.req.query("email")!}
    order by created_at desc, id desc limit 50`;
  return c.json(rows);
});

app.post("/players", async (c) => {
  const player = { ...(await c.req.json()), property_id: property };
  const [row] = await sql`insert into players ${sql(player)} returning ${sql.unsafe(COLUMNS)}`;
  return c.json(row, 201);
});

app.post("/plays", async (c) => {
  const { gameId, playerId, clientSeed } = await c.req.json();
  const [last] = await sql`
    select coalesce(max(nonce), 0) + 1 as nonce from game_plays
    where property_id = ${property} and game_id = ${gameId} and player_id = ${playerId}`;
  const play = {
    property_id: property,
    game_id: gameId,
    player_id: playerId,
    outcome: "lose",
    client_seed: clientSeed,
    server_seed_hash: "0".repeat(64),
    nonce: last!.nonce,
    roll: 1,
  };
  const [row] = await sql`insert into game_plays ${sql(play)} returning id, outcome, nonce, roll`;
  return c.json(row, 201);
});

app.post("/naive", async (c) => {
  const { row, status } = await naiveCreate(
    sql,
    property,
    c.req.header("idempotency-key")!,
    await c.req.text(),
  );
  return c.json(row, status);
});

listen({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }: AddressInfo) => serve(port));
