import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createTransport } from "nodemailer";
import { openChannels, type Sender } from "#runtime/channels/index.ts";
import type { EmailMessage } from "#runtime/channels/provider/channel.ts";
import { mostSends, openCampaigns } from "../support/bare-campaign.ts";
import { median, type Report } from "../support/figure.ts";
import { ROUNDS } from "../support/load.ts";

const PLAYERS = Number(process.env.BENCH_PLAYERS ?? 100_000);
const SENDS = Math.min(mostSends(PLAYERS), Number(process.env.BENCH_SENDS ?? 10_000));
/** The service's default. */
const CONNECTIONS = 5;
const LEAST = 0.8;

/** S15: a campaign's delivery by SMTP, against nodemailer's pool that is given the same messages ready to send. */
export default async function bench(report: Report): Promise<void> {
  const sink = fork(new URL("../peers/mail-sink.ts", import.meta.url), { execArgv: [] });
  const [{ port }] = (await once(sink, "message")) as [{ port: number }];
  const campaigns = await openCampaigns(PLAYERS);
  const channels = openChannels({ allowPrivate: true });
  const settings = { host: "127.0.0.1", port, maxConnections: CONNECTIONS };
  const pool = createTransport({ ...settings, pool: true, ignoreTLS: true });
  try {
    const chosen = { name: "smtp", settings, trusted: true };
    const messages: EmailMessage[] = [];
    await campaigns.deliver(SENDS, () => keeping(messages));
    const rounds: { ours: number; peer: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const ours = await campaigns.deliver(SENDS, (store) => channels.open("email", chosen, store));
      await allOnce(sink);
      const peer = await posted(pool, messages);
      await allOnce(sink);
      // The first round only warms.
      if (round > 0) rounds.push({ ours: SENDS / ours, peer: SENDS / peer });
    }
    const ratio = median(rounds.map(({ ours, peer }) => ours / peer));
    report({
      name: `S15 campaign of ${SENDS.toLocaleString("en")} by SMTP, sends/s / nodemailer`,
      ours: median(rounds.map(({ ours }) => ours)),
      peer: median(rounds.map(({ peer }) => peer)),
      ratio,
      goal: `≥ ${LEAST}x`,
      met: ratio >= LEAST,
    });
  } finally {
    pool.close();
    await channels.close();
    await campaigns.close();
    sink.disconnect();
  }
}

/** Takes what a campaign would send. */
function keeping(messages: EmailMessage[]): Sender<"email"> {
  return {
    repeatable: false,
    concurrency: 500,
    send: async (batch) => {
      messages.push(...batch);
      return batch.map(({ id }) => ({ id, status: "sent", providerMessageId: id }));
    },
  };
}

async function posted(
  pool: { sendMail(mail: object): Promise<unknown> },
  messages: EmailMessage[],
): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(
    messages.map(({ id, to, from, subject, html, text, headers }) =>
      pool.sendMail({
        messageId: `<${id}@casino.example>`,
        from: { name: from.name ?? "", address: from.email },
        to,
        subject,
        html,
        text,
        headers,
      }),
    ),
  );
  return (performance.now() - startedAt) / 1000;
}

/** The control: each message has arrived, and none of them twice. */
async function allOnce(sink: ChildProcess): Promise<void> {
  sink.send("seen");
  const [{ messages, ids, recipients }] = (await once(sink, "message")) as [Record<string, number>];
  if (messages !== SENDS || ids !== SENDS || recipients !== SENDS) {
    throw new Error(
      `the control moved: ${messages} messages with ${ids} ids to ${recipients} people, not ${SENDS}`,
    );
  }
}
