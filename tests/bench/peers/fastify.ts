import type { AddressInfo } from "node:net";
import fastify from "fastify";
import pg from "pg";
import { COLUMNS, databaseUrl, POOL, property } from "./players.ts";
import { serve } from "./serve.ts";

const pool = new pg.Pool({ connectionString: databaseUrl, max: POOL });
const app = fastify();

app.get<{ Querystring: { tier: string } }>("/players", async (request) => {
  const { rows } = await pool.query({
    name: "players",
    text: `select ${COLUMNS} from players where property_id = $1 and tier = $2 and deleted_at is null
      order by created_at desc, id desc limit 50`,
    values: [property, request.query.tier],
  });
  return rows;
});

await app.listen({ port: 0, host: "127.0.0.1" });
serve((app.server.address() as AddressInfo).port);
