import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { send } from "../support/calls.ts";
import { type Fault, type Outcome, problemsOf, repeats, seconds, until } from "../support/fault.ts";
import { startService } from "../support/process.ts";
import { openScenario } from "../support/scenario.ts";
import { newDatabase } from "../support/server.ts";

/** 5 s, and what this process itself is late by. */
const SLOWEST = 5_250;
const HEALTHY_WITHIN = 10_000;
const CLIENTS = 10;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    report("the database falls silent", await silenced(long ? 30_000 : 8_000));
  }
};
export default fault;

/** Nothing passes to the database and back for a while, and no connection breaks. Every key is sent until it is answered. */
async function silenced(milliseconds: number): Promise<Outcome> {
  const database = await newDatabase();
  const way = await openWay(database);
  const service = await startService({ DATABASE_URL: way.url, APP_SECRET: "f".repeat(32) });
  const scenario = await openScenario(database);
  try {
    const statuses = new Map<number, number>();
    const answered: string[] = [];
    const ids: string[] = [];
    let slowest = 0;
    let lastTrouble = 0;
    let done = false;
    const write = async (key: string) => {
      for (let trying = true; trying; ) {
        const startedAt = performance.now();
        const { status, body } = await send(service, scenario.key, "POST", "/api/players", {
          body: { first_name: key },
          headers: { "Idempotency-Key": key },
        });
        slowest = Math.max(slowest, performance.now() - startedAt);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        trying = status === 503 || status === 409;
        if (trying) lastTrouble = performance.now();
        else ids.push(body.id);
      }
      answered.push(key);
    };
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (!done) await write(randomUUID());
    });
    await until("the load", 30_000, () => answered.length > 100);
    way.silence();
    await new Promise((resolve) => setTimeout(resolve, milliseconds));
    const before = answered.length;
    way.open();
    const openedAt = performance.now();
    await until("health", 60_000, () => answered.length > before + 100);
    done = true;
    await Promise.all(clients);
    const healed = Math.max(0, lastTrouble - openedAt);
    const rows = await scenario.sql<{ first_name: string; id: string }[]>`
      select first_name, id from players where property_id = ${scenario.id}`;
    const kept = new Map(rows.map((row) => [row.first_name, row.id]));
    const others = [...statuses.keys()].filter((status) => ![201, 409, 503].includes(status));
    return {
      about: `${[...statuses].map(([status, count]) => `${count} times ${status}`).join(", ")}; the slowest answer ${seconds(slowest)}, the last refusal ${seconds(healed)} after the silence`,
      ledger: {
        lost: answered.filter((key) => !kept.has(key)).length,
        doubled: repeats(rows.map((row) => row.first_name)),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`answers ${others.join(", ")}: ${service.output().slice(0, 2_000)}`]: others.length > 0,
        "nobody noticed the silence": !statuses.has(503),
        [`an answer took ${seconds(slowest)}`]: slowest > SLOWEST,
        [`healthy after ${seconds(healed)}`]: healed > HEALTHY_WITHIN,
        "an answer named a record that is not there": ids.some((id) => !rows.some((row) => row.id === id)),
      }),
    };
  } finally {
    way.open();
    await scenario.close();
    await service.terminate();
    await way.close();
  }
}

/** A way to the database that can be made to swallow everything. */
async function openWay(database: string) {
  const target = new URL(database);
  const sockets = new Set<Socket>();
  let silent = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => sockets.delete(from));
      if (silent) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(database);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    silence: () => {
      silent = true;
      for (const socket of sockets) socket.pause();
    },
    open: () => {
      silent = false;
      for (const socket of sockets) socket.resume();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
