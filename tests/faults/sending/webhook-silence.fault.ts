import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { must } from "../support/calls.ts";
import {
  type Fault,
  type Outcome,
  percentile,
  problemsOf,
  repeats,
  seconds,
  until,
} from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import { openScenario } from "../support/scenario.ts";

const RECEIVERS = 20;
const SLOWEST = 2_000;
/** Milliseconds between two events: the others' pace is looked at, and not how much they can take. */
const PACE = 400;

const fault: Fault = async (report, { rounds, long }) => {
  for (let round = 0; round < rounds; round++) {
    report("one receiver of 20 hangs", await hanging({ events: long ? 300 : 40 }));
  }
};
export default fault;

/** One endpoint takes requests and never answers them. The others are told as soon as before. */
async function hanging({ events }: { events: number }): Promise<Outcome> {
  const heard: { path: string; id: string; property: string; object: string; at: number }[] = [];
  let hung = 0;
  const server = createServer((request, response) => {
    const path = request.url!;
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (path === "/0") return void hung++;
      const { id, property_id: property, data } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      heard.push({ path, id, property, object: data.object.id, at: performance.now() });
      response.end("ok");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const installation = await openInstallation();
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    for (let n = 0; n < RECEIVERS; n++) await scenario.endpoint(`http://127.0.0.1:${port}/${n}`);
    const told = new Map<string, number>();
    for (let n = 0; n < events; n++) {
      const { body } = await must(service, scenario.key, "POST", "/api/players", {
        body: { player_id: `H-${n}` },
      });
      told.set(body.id, performance.now());
      await pause(PACE);
    }
    const wanted = events * (RECEIVERS - 1);
    const distinct = () => new Set(heard.map(({ path, object }) => `${path} ${object}`)).size;
    await until("the others' deliveries", 120_000, () => distinct() >= wanted);
    const delays = heard.map(({ object, at }) => at - told.get(object)!);
    const slow = percentile(delays, 99);
    return {
      about: `${hung} requests hung; the others were told within ${seconds(percentile(delays, 50))} (p50) and ${seconds(slow)} (p99)`,
      ledger: {
        lost: wanted - distinct(),
        doubled: repeats(heard.map(({ path, object }) => `${path} ${object}`)),
        foreign: heard.filter(({ property }) => property !== scenario.id).length + (await scenario.foreign()),
      },
      problems: problemsOf({
        "nothing hung": hung === 0,
        [`the others waited ${seconds(slow)}`]: slow > SLOWEST,
      }),
    };
  } finally {
    await scenario.close();
    await installation.kill();
    await installation.close();
    server.closeAllConnections();
    server.close();
  }
}
