import type { Sender } from "#runtime/channels/index.ts";
import type { StoreMessages } from "#runtime/channels/provider/channel.ts";
import { openProvider } from "../../support/provider.ts";
import { mostSends, openCampaigns } from "../support/bare-campaign.ts";
import { type Figure, median, type Report } from "../support/figure.ts";

/**
 * S13 and S14: planning, against the same insert as one statement that cannot be resumed; delivery to the
 * mailbox, against the same batches with an empty provider. BENCH_PLAYERS, BENCH_SENDS and BENCH_ROUNDS size it.
 */
export default async function bench(report: Report): Promise<void> {
  const players = Number(process.env.BENCH_PLAYERS ?? 100_000);
  const sends = Math.min(mostSends(players), Number(process.env.BENCH_SENDS ?? 20_000));
  const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
  const campaigns = await openCampaigns(players);
  try {
    const planning = { ours: [] as number[], peer: [] as number[] };
    const delivery = { ours: [] as number[], peer: [] as number[] };
    for (let round = 0; round <= rounds; round += 1) {
      const plan = { ours: await campaigns.planInChunks(), peer: await campaigns.planAtOnce() };
      const ours = sends / (await campaigns.deliver(sends, mailbox));
      const peer = sends / (await campaigns.deliver(sends, null));
      // The first round only warms.
      if (round === 0) continue;
      planning.ours.push(plan.ours);
      planning.peer.push(plan.peer);
      delivery.ours.push(ours);
      delivery.peer.push(peer);
    }
    const [chunks, once] = [median(planning.ours), median(planning.peer)];
    report(
      figure(`S13 plan ${players} recipients, s`, chunks, once, chunks / once, "<= 2", chunks / once <= 2),
    );
    const [kept, nowhere] = [median(delivery.ours), median(delivery.peer)];
    const ratio = median(delivery.ours.map((one, round) => one / delivery.peer[round]!));
    const good = ratio >= 0.7 && kept >= 2_000;
    report(
      figure(`S14 deliver ${sends} to the mailbox, sends/s`, kept, nowhere, ratio, ">= 0.7, >= 2000/s", good),
    );
  } finally {
    await campaigns.close();
  }
}

function mailbox(store: StoreMessages): Sender<"email"> {
  return openProvider("email", "mailbox", {}, store);
}

function figure(name: string, ours: number, peer: number, ratio: number, goal: string, met: boolean): Figure {
  return { name, ours, peer, ratio, goal, met };
}
