import { median, type Report } from "../support/figure.ts";
import { type Peer, ROUNDS, startPeer } from "../support/load.ts";
import { type BenchProperty, openProperty } from "../support/property.ts";

const ROWS = 300_000;
const DEEP = 299_000;
type Page = "deep" | "ids" | "first" | "keyset" | "search" | "unindexed";

/** Times that each is asked in a round: quick answers vary more. */
const ASKED: Record<Page, number> = { deep: 5, ids: 5, first: 50, keyset: 50, search: 20, unindexed: 5 };

/** S6 and S7: the end of a long list, and a part of an address, through the whole service; ms an answer. */
export default async function bench(report: Report): Promise<void> {
  const bench = await openProperty(ROWS);
  const environment = { DATABASE_URL: bench.url, PROPERTY: bench.property };
  const [service, hono] = await Promise.all([
    startPeer("service", environment),
    startPeer("hono", environment),
  ]);
  try {
    const part = encodeURIComponent("%77777%");
    const paths: Record<Page, [Peer, string]> = {
      deep: [service, `/api/players?offset=${DEEP}&limit=50`],
      ids: [hono, `/deep?offset=${DEEP}`],
      first: [service, "/api/players?cursor=&limit=50"],
      keyset: [service, `/api/players?cursor=${await cursorAt(service, bench, DEEP)}&limit=50`],
      search: [service, `/api/players?email.ilike=${part}&limit=50`],
      unindexed: [hono, `/search?email=${part}`],
    };
    const ask = (name: Page) => answer(bench, ...paths[name]);
    await same("an offset", await ask("deep"), await ask("ids"));
    await same("a cursor", await ask("deep"), await ask("keyset"));
    await same("a search", await ask("search"), await ask("unindexed"));
    const rounds = await interleaved(Object.keys(paths) as Page[], ask);
    const figure = (name: string, ours: Page, peer: Page) => ({
      name: `${name}, ms`,
      ours: median(rounds.map((round) => round[ours])),
      peer: median(rounds.map((round) => round[peer])),
    });
    const faster = (name: string, ours: Page, peer: Page, least: number) => {
      const ratio = median(rounds.map((round) => round[peer] / round[ours]));
      report({ ...figure(name, ours, peer), ratio, goal: `≥ ${least}x`, met: ratio >= least });
    };
    const asFast = (name: string, ours: Page, peer: Page, most: number) => {
      const ratio = median(rounds.map((round) => round[ours] / round[peer]));
      report({ ...figure(name, ours, peer), ratio, goal: `≤ ${most}x`, met: ratio <= most });
    };
    asFast("S6 offset 299,000 of 300,000 / index-only scan of the ids", "deep", "ids", 1.3);
    asFast("S6 keyset there / keyset page 1", "keyset", "first", 1.3);
    faster("S7 email ilike '%x%' of 300,000 / no index", "search", "unindexed", 30);
  } finally {
    await Promise.all([service.stop(), hono.stop()]);
    await bench.close();
  }
}

async function interleaved(
  names: Page[],
  ask: (name: Page) => Promise<unknown>,
): Promise<Record<Page, number>[]> {
  const rounds: Record<Page, number>[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const taken = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Page, number[]>;
    // They run in turns: the machine's other work slows all of them alike.
    for (let asked = 0; asked < Math.max(...Object.values(ASKED)); asked++) {
      for (const name of names.filter((one) => asked < ASKED[one])) {
        const startedAt = performance.now();
        await ask(name);
        taken[name].push(performance.now() - startedAt);
      }
    }
    const times = Object.fromEntries(names.map((name) => [name, median(taken[name])])) as Record<
      Page,
      number
    >;
    if (round > 0) rounds.push(times);
  }
  return rounds;
}

async function answer(bench: BenchProperty, peer: Peer, path: string): Promise<string> {
  const response = await fetch(peer.url + path, { headers: { "X-Api-Key": bench.key } });
  const text = await response.text();
  if (!response.ok) throw new Error(`the control moved: ${path} was answered ${response.status}`);
  return text;
}

function same(what: string, ours: string, peers: string): void {
  const [some, others] = [ours, peers].map((text) =>
    JSON.parse(text)
      .map(({ id }: { id: string }) => id)
      .join(),
  );
  if (!some || some !== others) throw new Error(`the control moved: ${what} finds other players`);
}

/** The page at a position by keyset paging, reached in the largest pages. */
async function cursorAt(service: Peer, bench: BenchProperty, place: number): Promise<string> {
  let cursor = "";
  for (let at = 0; at < place; at += 1000) {
    const response = await fetch(`${service.url}/api/players?select=id&limit=1000&cursor=${cursor}`, {
      headers: { "X-Api-Key": bench.key },
    });
    await response.arrayBuffer();
    cursor = response.headers.get("x-next-cursor")!;
  }
  return cursor;
}
