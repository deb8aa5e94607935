import { randomUUIDv7 } from "node:crypto";
import { Fault } from "#runtime/faults.ts";
import type { Channel } from "#tools/compliance/channels.ts";
import { shifted } from "../../../support/database.ts";
import { runNext, vendor } from "../../../support/job-runner.ts";
import type { TestService } from "../../../support/service.ts";
import {
  type Act,
  CHANNELS,
  EMAILS,
  EVIDENCE,
  type Fields,
  NUMBERS,
  PEOPLE,
  PHONES,
  TEXTS,
} from "./bar-acts.ts";
import { openVendors } from "./bar-vendors.ts";
import { addressOn, Bars, closedWith, identity, type Seen } from "./bars.ts";

const HOUR = 3_600_000;
const MOST_EXPLAINED = 6;
const CONTENT = {
  email: { subject: "Hello", body_html: "<p>Double points.</p>" },
  sms: { body_text: "Double points." },
  inbox: { subject: "Hello", body_text: "Double points." },
};

const BROWSER = {
  p256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
  auth: "tBHItJI5svbpez7KI4CCXg",
};

interface Sent {
  id: string;
  channel: string;
  address: string;
}

/** A property, an API key, and what the model has to know of each call. */
export async function openCasino(service: TestService) {
  const { id } = await service.newProperty();
  const actor = {
    type: "api_key" as const,
    id: randomUUIDv7(),
    propertyId: id,
    scopes: ["read" as const, "write" as const],
    rateLimit: 1_000_000,
  };
  const db = service.database.db;
  const bars = new Bars();
  /** The times at which the steps began. */
  const times: string[] = [];
  const sends: Sent[] = [];
  /** The unsubscribe header of each mail, by its send. */
  const links = new Map<string, string>();
  /** The notices that have had an effect: a repeated one has none. */
  const noticed = new Set<string>();
  const wrong: string[] = [];
  const vendors = await openVendors(service, id, wrong);

  const run = async (name: string, input: object, as: object = { actor, transport: "rest" }) => {
    try {
      return await service.call(name, input, id, as);
    } catch (error) {
      if (error instanceof Fault && error.status < 500) return null;
      throw error;
    }
  };
  const look = async () => {
    const rows = await db.asProperty(
      id,
      (sql) => sql`
      select id, player_id, email, phone, first_name, last_name, birth_date::text, status, deleted_at is null as live
      from players where property_id = ${id} order by created_at, id`,
    );
    bars.see(rows as never);
  };
  const pick = (list: readonly Seen[], index: number) => list[index % Math.max(1, list.length)];
  const live = (index: number) => pick(bars.live(), index);

  const open = () =>
    vendor({
      answer: ({ id: sendId, headers }) => {
        links.set(sendId, headers?.["List-Unsubscribe"] ?? "");
        return { id: sendId, status: "sent", providerMessageId: sendId };
      },
    }).sender;

  /** Two players who have agreed to be written to, and who have got a message. */
  async function opening(): Promise<void> {
    for (const at of [0, 1]) {
      const fields = { player_id: NUMBERS[at], email: EMAILS[at], phone: PHONES[at] };
      const { id: playerId } = await service.call("create_player", fields, id);
      for (const c of ["email", "sms"]) {
        const said = { propertyId: id, playerId, channel: c, consentGiven: true, ...EVIDENCE };
        await service.call("consent_record", said, id);
      }
    }
    await look();
    wrong.push(...(await sendAll("email")));
    if (sends.length !== 2) wrong.push(`${sends.length} of 2 players got the first message`);
  }

  async function step(one: Act): Promise<void> {
    times.push(new Date().toISOString());
    const at = times.length - 1;
    const base = { propertyId: id };
    switch (one.act) {
      case "create":
        await run("create_player", one.given);
        break;
      case "update": {
        const player = live(one.which);
        if (player) await run("update_player", { id: player.id, ...one.given });
        break;
      }
      case "delete": {
        const player = live(one.which);
        if (player) await run("delete_player", { id: player.id });
        break;
      }
      case "restore": {
        const player = pick(
          bars.all().filter((p) => !p.live),
          one.which,
        );
        if (player) await run("restore_player", { ...base, playerId: player.id });
        break;
      }
      case "merge": {
        const [kept, duplicate] = [live(one.which), live(one.other)];
        if (!kept || !duplicate || kept === duplicate) break;
        if (await run("merge_players", { ...base, playerId: kept.id, duplicateId: duplicate.id }))
          bars.merge(kept, duplicate);
        break;
      }
      case "import":
        await imported(one, at);
        break;
      case "agree": {
        const player = live(one.which);
        if (!player) break;
        const then = Math.max(0, at - one.ago);
        const said = { ...base, playerId: player.id, channel: one.channel, consentGiven: true };
        const more = one.proven ? { ...EVIDENCE, occurredAt: times[then] } : {};
        if ((await run("consent_record", { ...said, ...more })) && one.proven)
          bars.agree(player, one.channel, then);
        break;
      }
      case "refuse": {
        const player = live(one.which);
        if (
          player &&
          (await run("consent_record", {
            ...base,
            playerId: player.id,
            channel: one.channel,
            consentGiven: false,
          }))
        )
          bars.refuse(player, [one.channel], at);
        break;
      }
      case "revoke": {
        const player = live(one.which);
        if (!player || !(await run("consent_revoke", { ...base, playerId: player.id, channel: one.channel })))
          break;
        bars.refuse(player, closedWith(one.channel), at);
        for (const c of closedWith(one.channel)) {
          const address = addressOn(c, player);
          if (address) bars.refuseAt(address, c, at);
        }
        break;
      }
      case "revokeAddress": {
        const isEmail = one.address.includes("@");
        const channels = closedWith(isEmail ? "email" : "sms");
        if (
          await run("consent_revoke", {
            ...base,
            [isEmail ? "email" : "phone"]: one.address,
            channel: channels[0],
          })
        )
          bars.refuseAddress(one.address, channels, at);
        break;
      }
      case "dnc":
        await run("create_dnc_entry", { phone: one.phone });
        bars.doNotCall(one.phone);
        break;
      case "suppress": {
        const c = one.all ? "all" : one.address.includes("@") ? "email" : "sms";
        const ends = one.ends ? { expires_at: new Date(Date.now() + 3_600_000).toISOString() } : {};
        const made = await run("create_suppression", {
          address: one.address,
          channel: c,
          reason: one.reason,
          ...ends,
        });
        if (made && one.ends) bars.listBriefly(one.address, c);
        if (!made || one.ends) break;
        if (["unsubscribed", "stop_keyword"].includes(one.reason) && c !== "all")
          bars.refuseAt(one.address, c, at, one.reason === "stop_keyword");
        else bars.list(one.address, c, one.reason);
        break;
      }
      case "unsuppress": {
        const rows = await db.asProperty(
          id,
          (sql) => sql<{ id: string; address: string; channel: string; reason: string }[]>`
          select id, address, channel, reason from suppressions where property_id = ${id} and lifted_at is null
          order by reason in ('manual', 'import') desc, id`,
        );
        const row = rows[one.which % Math.max(1, rows.length)];
        if (row && (await run("delete_suppression", { id: row.id })))
          bars.unlist(row.address, row.channel, row.reason);
        break;
      }
      case "exclude": {
        const player = one.how === "player" ? live(one.which) : undefined;
        if (one.how === "player" && !player) break;
        const given = {
          email: { email: EMAILS[one.pick] },
          phone: { phone: PHONES[one.pick] },
          person: PEOPLE[one.pick % 2]!,
          player: {},
        }[one.how]!;
        const ends = one.ends ? { ends_at: new Date(Date.now() + HOUR).toISOString() } : {};
        const named = { ...given, ...ends, ...(player && { player_id: player.id }) };
        if (await run("create_self_exclusion", named)) bars.exclude(given as never, player, one.ends);
        break;
      }
      case "wait":
        await pass();
        bars.pass();
        break;
      case "send":
        wrong.push(...(await sendAll(one.by)));
        break;
      case "unsubscribe": {
        const send = mailed(one.which);
        if (!send) break;
        const field = one.by === "button" ? { pressed: "on" } : { "List-Unsubscribe": "One-Click" };
        await visit(send, { method: "POST", body: new URLSearchParams(field) });
        await unsubscribed(send, at);
        break;
      }
      case "open": {
        const send = mailed(one.which);
        if (send) await visit(send);
        break;
      }
      case "prefer": {
        const send = mailed(one.which);
        if (!send) break;
        const player = await holderOf(send);
        const { off, on } = one;
        if (!(await run("save_preferences", { sendId: send.id, off, on }, {}))) break;
        if (off.includes("email")) await unsubscribed(send, at);
        for (const c of player ? off.filter((channel) => channel !== "email") : []) {
          bars.refuse(player!, [c], at);
          const address = addressOn(c, player!);
          if (address) bars.refuseAt(address, c, at);
        }
        if (player && on.length > 0 && !off.includes("email")) bars.agree(player, "email", at);
        break;
      }
      case "notice":
        await notice(one, at);
        break;

      case "end": {
        const player = live(one.which);
        if (player && (await run("set_player_status", { ...base, playerId: player.id, status: one.status })))
          bars.finish(player);
        break;
      }
      case "erase": {
        const player = live(one.which);
        if (player && (await run("data_deletion", { ...base, playerId: player.id }))) bars.erase(player);
        break;
      }
      case "text": {
        if (!(await vendors.text(one.phone, one.text, one.forged))) break;
        const asked = TEXTS[one.text];
        if (asked === "stop") bars.refuseAddress(one.phone, ["sms", "voice"], at, true);
        if (asked === "start") bars.start(one.phone);
        if (asked === "review") bars.review(one.phone);
        break;
      }
      case "repeat":
        await vendors.repeat(one.which);
        await workOn("receive_notices");
        break;
    }
    await look();
  }

  const mailed = (index: number) => {
    const mails = sends.filter(({ channel }) => channel === "email");
    return mails[index % Math.max(1, mails.length)];
  };

  /** The live record that a send belongs to by now: a merge moves it. */
  async function holderOf({ id: sendId }: Sent): Promise<Seen | undefined> {
    const [row] = await db.asProperty(
      id,
      (sql) => sql<{ player_id: string | null }[]>`
        select player_id from campaign_sends where property_id = ${id} and id = ${sendId}`,
    );
    const player = bars.get(row?.player_id ?? "");
    return player?.live && player.status !== "erased" ? player : undefined;
  }

  /** The link speaks for the address that it went to, and for its player. */
  async function unsubscribed(send: Sent, at: number): Promise<void> {
    const player = await holderOf(send);
    if (player) {
      bars.refuse(player, ["email"], at);
      if (player.email) bars.refuseAt(player.email, "email", at);
    }
    bars.refuseAddress(send.address, ["email"], at);
  }

  async function notice(one: Extract<Act, { act: "notice" }>, at: number): Promise<void> {
    const send = mailed(one.which);
    if (one.known && !send) return;
    const address = one.known ? send!.address : EMAILS[one.which % EMAILS.length]!;
    const kind = one.kind === "hard" || one.kind === "soft" ? "bounced" : one.kind;
    const player = one.known ? await holderOf(send!) : undefined;
    if (one.known) await rehearse(one, kind, send!);
    else if (!(await vendors.tell(one.kind, address, one))) return;
    await workOn("receive_notices");
    const key = `${send?.id} ${one.kind}`;
    if (one.known && noticed.has(key)) return;
    if (one.known) noticed.add(key);
    if (one.kind === "hard" && one.known) bars.list(address, "email", "hard_bounce");
    if (one.kind === "soft") bars.bounce(address);
    if (kind === "bounced") return;
    bars.refuseAddress(address, ["email"], at);
    if (player) bars.refuse(player, ["email"], at);
    if (one.kind === "complained") bars.list(address, "email", "complaint");
  }

  /** The mailbox's notices of a message. */
  async function rehearse({ kind: said, times }: { kind: string; times: number }, kind: string, send: Sent) {
    const told = {
      ...{ kind, eventId: randomUUIDv7(), at: new Date().toISOString(), sendId: send.id },
      ...(kind === "bounced" && { permanent: said === "hard" }),
    };
    const input = { providerId: vendors.mailbox, notices: Array.from({ length: times }, () => told) };
    await db.asSystem(
      (sql) => sql`
        insert into queue (id, name, property_id, input, max_attempts)
        values (${randomUUIDv7()}, 'rehearse_notices', ${id}, ${input}, 1)`,
    );
    await workOn("rehearse_notices");
  }

  const workOn = async (only: string) => {
    while (await runNext(service, id, { only }));
  };

  /** Opens the link of a mail's own header, as a person, a mail program or a scanner of links does. */
  async function visit(send: Sent, request: RequestInit = {}): Promise<void> {
    const { pathname } = new URL(/<(.+?)>/.exec(links.get(send.id)!)![1]!);
    const { status } = await fetch(`${service.baseUrl}${pathname}`, request);
    if (status !== 200)
      wrong.push(`${request.method ?? "GET"} of an unsubscribe link is answered by ${status}`);
  }

  /** Two hours pass for all that has an end. */
  async function pass(): Promise<void> {
    await db.asProperty(id, async (sql) => {
      await sql`
        update self_exclusions set starts_at = ${shifted("starts_at", "-2 hours")}, ends_at = ${shifted("ends_at", "-2 hours")}
        where property_id = ${id} and ends_at is not null`;
      await sql`
        update suppressions set expires_at = ${shifted("expires_at", "-2 hours")}
        where property_id = ${id} and expires_at is not null and lifted_at is null`;
    });
  }

  async function imported({ rows, mode, on_conflict }: Extract<Act, { act: "import" }>, at: number) {
    const file = rows.map(({ given, word }) => ({ ...given, "consent.email": word }));
    const consent = { channel: [], ...EVIDENCE };
    const job = await run("create_import_job", {
      rows: file,
      mode,
      on_conflict,
      mapping: { "consent.email": "consent.email" },
      consent,
    });
    if (!job) return;
    while (await runNext(service, id, { only: "import_players" }));
    await look();
    for (const { given, word } of rows) {
      if (word !== "no") continue;
      const keys = ["player_id", "email", "phone"] as const;
      const key = keys.find((name) => (given as Fields)[name] !== undefined);
      const known = key && bars.live().find((p) => p[key] === (given as Fields)[key]);
      const denied =
        known &&
        (await db.asProperty(
          id,
          (sql) =>
            sql`select from players where property_id = ${id} and id = ${known.id} and consents ->> 'email' = 'false'`,
        ));
      if (known && denied!.length > 0) bars.refuse(known, ["email"], at);
    }
  }

  /** A casino that tries everything: consents for all whom it knows, and the numbers, addresses and names anew. */
  async function press(): Promise<void> {
    const deleted = new Set(bars.live().map(({ player_id }) => player_id));
    for (const number of NUMBERS) {
      if (!deleted.has(number))
        await run("create_player", {
          player_id: number,
          email: `${number}@example.com`,
          phone: `+1702555020${number.slice(1)}`,
        });
    }
    for (const address of [...EMAILS, ...PHONES])
      await run("create_player", { [address.includes("@") ? "email" : "phone"]: address });
    for (const [index, person] of PEOPLE.entries())
      await run("create_player", { ...person, email: `p${index}@example.com` });
    const rows = NUMBERS.map((number) => ({ player_id: number, email: `i${number}@example.com` }));
    if (await run("create_import_job", { rows, mode: "create_only" }))
      while (await runNext(service, id, { only: "import_players" }));
    await look();
    for (const player of bars.live()) {
      if (bars.anywhere(player).length === 0) continue;
      const playerId = player.id;
      const endpoint = `https://push.example/${playerId}`;
      await run("subscribe_push", { playerId, endpoint, ...BROWSER, agreed: true }, {});
    }
    const barred = bars.live().map((player) =>
      CHANNELS.filter((c) => bars.against(player, c).length > 0).map((c) => ({
        playerId: player.id,
        channel: c,
      })),
    );
    await Promise.all(
      barred.map(async (channels) => {
        for (const one of channels)
          await run("consent_record", { propertyId: id, ...one, consentGiven: true, ...EVIDENCE });
      }),
    );
    await look();
  }

  /** `after`: also of push, and in two hours, when what ends has ended. */
  async function falseAllows({ after = false } = {}): Promise<string[]> {
    const wrong: string[] = [];
    const players = bars.live();
    if (players.length === 0) return [];
    for (const c of [...CHANNELS, ...(after ? ["push" as const] : [])]) {
      for (const hours of after ? [0, 2] : [0]) {
        const at = hours ? { at: new Date(Date.now() + hours * 3_600_000).toISOString() } : {};
        const said = await service.call(
          "compliance_check",
          { propertyId: id, channel: c, playerIds: players.map((p) => p.id), ...at },
          id,
        );
        for (const [index, result] of said.results.entries()) {
          const player = players[index]!;
          const why = c === "push" ? bars.anywhere(player, hours > 0) : bars.against(player, c, hours > 0);
          if (result.allowed && why.length > 0)
            wrong.push(
              `${c} +${hours}h ${player.player_id} ${player.email} ${player.phone} ${player.status} ${identity(player)}: ${why}`,
            );
        }
      }
    }
    return wrong;
  }
  /** Reasons against players that no act is behind, also once all of them have agreed. */
  async function falseBars(): Promise<string[]> {
    const told: string[] = [];
    for (const channel of CHANNELS) {
      const asked = bars.live().filter((player) => addressOn(channel, player) !== null);
      if (asked.length === 0) continue;
      const playerIds = asked.map((player) => player.id);
      const check = async (): Promise<{ player_id: string; reasons: string[] }[]> =>
        (await service.call("compliance_check", { propertyId: id, channel, playerIds }, id)).results;
      for (const { player_id: playerId, reasons } of await check()) {
        if (String(reasons) !== "no_consent") continue;
        const said = { propertyId: id, playerId, channel, consentGiven: true, ...EVIDENCE };
        await run("consent_record", said);
      }
      for (const { player_id, reasons } of await check()) {
        const player = bars.get(player_id)!;
        const more = reasons.filter((reason) => reason !== "no_consent");
        const bare = (more.length > 0 ? more : reasons).filter(
          (reason) => !bars.explains(player, channel, reason),
        );
        if (bare.length > 0)
          told.push(
            `${channel} ${player.player_id} ${player.email} ${player.phone} ${player.status}: ${reasons}`,
          );
      }
    }
    return told;
  }

  /** A campaign to everybody: whom it reaches in spite of a bar, and where a check has said otherwise. */
  async function sendAll(channel: "email" | "sms" | "inbox"): Promise<string[]> {
    const { id: campaignId } = await service.call(
      "create_campaign",
      { name: channel, channel, audience: "all", ...CONTENT[channel] },
      id,
    );
    const answers = await explained(channel);
    const tool = channel === "sms" ? "send_sms_campaign" : "send_campaign";
    if (!(await run(tool, { campaignId, propertyId: id }))) return [];
    for (const only of ["plan_campaign", "deliver_campaign"])
      while (await runNext(service, id, { only, open }));
    const rows = await db.asProperty(
      id,
      (sql) => sql<{ id: string; player_id: string; status: string; skip_reasons: string[] }[]>`
        select id, player_id, status, skip_reasons from campaign_sends
        where property_id = ${id} and campaign_id = ${campaignId} order by player_id`,
    );
    return rows.flatMap((row) => {
      const player = bars.get(row.player_id)!;
      const who = `${channel} to ${player.player_id} ${player.email} ${player.phone} ${player.status}`;
      // Another player's message to the address stands for it, which may wait for a text to be read.
      const isTwin = row.skip_reasons.includes("duplicate_address");
      const skipped = row.skip_reasons.filter((reason) => reason !== "duplicate_address");
      const told = answers.get(player.id)?.filter((reason) => !isTwin || reason !== "needs_review");
      const differs =
        !told || String(told) === String(skipped) ? [] : [`${who}: told ${told}, and done ${skipped}`];
      // A message waits while a text of its number is to be read.
      if (row.status === "skipped" || skipped.length > 0) return differs;
      const address = channel === "inbox" ? null : addressOn(channel, player);
      if (address !== null) sends.push({ id: row.id, channel, address });
      const why = channel === "inbox" ? bars.anywhere(player) : bars.against(player, channel);
      return [...differs, ...(why.length > 0 ? [`${who}: ${why}`] : [])];
    });
  }

  /** The reasons against some players, which `explain_eligibility` and `compliance_check` agree on. */
  async function explained(channel: Channel | "inbox"): Promise<Map<string, string[]>> {
    const playerIds = bars
      .live()
      .slice(-MOST_EXPLAINED)
      .map((player) => player.id);
    if (playerIds.length === 0) return new Map();
    const answers = await Promise.all(
      playerIds.map((playerId) =>
        service.call("explain_eligibility", { propertyId: id, playerId, channel }, id),
      ),
    );
    const reasons = new Map(answers.map((one) => [one.player_id as string, one.reasons as string[]]));
    if (channel === "inbox") return reasons;
    const checked = await service.call("compliance_check", { propertyId: id, channel, playerIds }, id);
    for (const { player_id, reasons: checks } of checked.results) {
      const told = reasons.get(player_id)!;
      if (String(told) !== String(checks))
        wrong.push(`${channel} to ${player_id}: ${told} is explained, ${checks} checked`);
    }
    return reasons;
  }

  /** A campaign by each of these channels; calls and push are only asked about. */
  async function falseSends(channels: readonly (Channel | "inbox")[]): Promise<string[]> {
    for (const channel of channels) {
      if (channel === "voice" || channel === "push") await explained(channel);
      else wrong.push(...(await sendAll(channel)));
    }
    return wrong;
  }
  await opening();
  return { step, press, falseAllows, falseBars, falseSends };
}
