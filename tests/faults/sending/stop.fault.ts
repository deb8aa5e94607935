import { createHmac, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { pads } from "#tools/people/address.ts";
import { must } from "../support/calls.ts";
import { type Fault, fromBothEnds, type Outcome, problemsOf, repeats, until } from "../support/fault.ts";
import { openInstallation } from "../support/installation.ts";
import type { ServiceProcess } from "../support/process.ts";
import { openScenario, type Scenario } from "../support/scenario.ts";

/** No call to the vendor starts later than this after the callback's answer. */
const STARTS_WITHIN = 1_000;
const ANSWERS_AFTER = 100;
const SID = `AC${"0a".repeat(16)}`;
const TOKEN = "secret";
const OURS = "+18005550000";
const PRELOAD = new URL("../support/vendor-host.ts", import.meta.url).href;

const fault: Fault = async (report, { rounds, long }) => {
  const extent = long ? { players: 10_000, stops: 1_000 } : { players: 2_000, stops: 100 };
  for (let round = 0; round < rounds; round++) {
    report("STOP in the middle of a campaign", await stopped(extent));
  }
};
export default fault;

/** Players text STOP while a campaign's texts are on their way to them. */
async function stopped(extent: { players: number; stops: number }): Promise<Outcome> {
  const vendor = await textVendor();
  const installation = await openInstallation({
    NODE_OPTIONS: `--import=${PRELOAD}`,
    VENDOR_URL: vendor.url,
  });
  const service = await installation.service();
  const scenario = await openScenario(installation.url());
  try {
    const allowed = await textable(scenario, extent.players);
    const callback = await addProvider(service, scenario);
    const { body: campaign } = await must(service, scenario.key, "POST", "/api/campaigns", {
      body: { name: "Texts", channel: "sms", audience: "all", body_text: "Double points." },
    });
    const send = { campaignId: campaign.id, propertyId: scenario.id };
    await must(service, scenario.key, "POST", "/api/functions/send-sms-campaign", { body: send });
    await until("the first texts", 60_000, () => vendor.texts.length > allowed.length / 50);
    const step = Math.floor(allowed.length / extent.stops);
    const chosen = allowed.filter((_, index) => index % step === 0).slice(0, extent.stops);
    const answers = new Map<string, number>();
    const stopping = async (phones: string[]) => {
      for (const phone of phones) {
        await textStop(callback, phone);
        answers.set(phone, performance.now());
      }
    };
    await Promise.all(fromBothEnds(chosen).map(stopping));
    await until("the campaign's end", 120_000, async () => {
      const [row] = await scenario.sql`select status from campaigns where id = ${campaign.id}`;
      return row!.status === "sent";
    });
    // The answer to a STOP is not marketing.
    const offers = vendor.texts.filter(({ body }) => body.startsWith("Double points."));
    const reached = new Set(offers.map(({ to }) => to));
    const late = offers.map(({ to, at }) => at - (answers.get(to) ?? Number.POSITIVE_INFINITY));
    const latest = Math.max(...late);
    const spared = chosen.filter((phone) => !reached.has(phone)).length;
    return {
      about: `${spared} of ${chosen.length} spared, ${late.filter((after) => after > 0).length} texts after the callback's answer, the last ${latest > 0 ? `${latest.toFixed(0)} ms after` : "before"} it`,
      ledger: {
        lost: allowed.filter((phone) => !answers.has(phone) && !reached.has(phone)).length,
        doubled: repeats(offers.map(({ to }) => to)),
        foreign: await scenario.foreign(),
      },
      problems: problemsOf({
        [`a text started ${latest.toFixed(0)} ms after the callback's answer`]: latest > STARTS_WITHIN,
        "nobody was spared: the send was over": spared === 0,
      }),
    };
  } finally {
    await scenario.close();
    await installation.close();
    await vendor.stop();
  }
}

/** Players with phones who take texts; answers the phones of those who may be sent to. */
async function textable({ sql, id, crowd }: Scenario, count: number): Promise<string[]> {
  await crowd(count);
  const [property] = await sql<{ pepper: Buffer }[]>`select pepper from properties where id = ${id}`;
  const { inner, outer } = pads(property!.pepper);
  const phone = sql`'+1702555' || lpad((split_part(player_id, '-', 2)::int - 1)::text, 4, '0')`;
  const rows = await sql<{ phone: string }[]>`
    update players set phone = ${phone}, phone_hash = address_hash(${inner}, ${outer}, ${phone}), consents = consents || '{"sms": true}'
    where property_id = ${id} returning phone`;
  await sql.unsafe("analyze players");
  return rows.map((row) => row.phone).sort();
}

/** The address that it calls back. */
async function addProvider(service: ServiceProcess, { key }: Scenario): Promise<string> {
  const provider = {
    channel: "sms",
    kind: "twilio",
    name: "Twilio",
    from_address: OURS,
    credentials: { account_sid: SID, auth_token: TOKEN },
    allows_gaming: true,
  };
  const { body } = await must(service, key, "POST", "/api/message_providers", { body: provider });
  return `${service.baseUrl}${body.callback_path}`;
}

/** As Twilio posts it and signs it. */
async function textStop(url: string, from: string): Promise<void> {
  const fields = { Body: "STOP", From: from, MessageSid: `SM${randomUUID().replaceAll("-", "")}`, To: OURS };
  const signed = `${url}${Object.entries(fields).flat().join("")}`;
  const response = await fetch(url, {
    method: "POST",
    headers: { "X-Twilio-Signature": createHmac("sha1", TOKEN).update(signed).digest("base64") },
    body: new URLSearchParams(fields),
  });
  if (response.status !== 200) throw new Error(`STOP: ${response.status} ${await response.text()}`);
  await response.text();
}

/** Twilio, as far as it is asked: it takes every text. */
async function textVendor() {
  const texts: { to: string; body: string; at: number }[] = [];
  const server = createServer(async (request, response) => {
    const at = performance.now();
    const form = new URLSearchParams(await text(request));
    // Its answer takes a while, so that the campaign does too.
    await pause(ANSWERS_AFTER);
    texts.push({ to: form.get("To")!, body: form.get("Body")!, at });
    response.writeHead(201, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ sid: `SM${randomUUID()}`, status: "queued" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    texts,
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
