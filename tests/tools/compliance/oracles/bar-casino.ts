import { randomUUIDv7 } from "node:crypto";
import { Fault } from "#runtime/faults.ts";
import { runNext } from "../../../support/job-runner.ts";
import type { TestService } from "../../../support/service.ts";
import { type Act, CHANNELS, EMAILS, EVIDENCE, type Fields, NUMBERS, PEOPLE, PHONES } from "./bar-acts.ts";
import { addressOn, Bars, closedWith, identity, type Seen } from "./bars.ts";

/** A property, an API key, and what the model has to know of each call. */
export async function openCasino(service: TestService) {
  const slug = `b-${randomUUIDv7()}`;
  const { id } = await service.call("create_property", {
    name: slug,
    slug,
    legal_name: "Casino LLC",
    postal_address: "1 Main Street",
  });
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
        if (await run("create_self_exclusion", { ...given, ...(player && { player_id: player.id }) }))
          bars.exclude(given as never, player);
        break;
      }
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
        const said = await run("receive_sms", { ...base, from: one.phone, text: one.text }, {});
        if (said?.action === "stop") bars.refuseAddress(one.phone, ["sms", "voice"], at, true);
        if (said?.action === "start") bars.start(one.phone);
        break;
      }
    }
    await look();
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

  async function falseAllows(): Promise<string[]> {
    const wrong: string[] = [];
    const players = bars.live();
    if (players.length === 0) return [];
    for (const c of CHANNELS) {
      for (const hours of [0, 2]) {
        const at = hours ? { at: new Date(Date.now() + hours * 3_600_000).toISOString() } : {};
        const said = await service.call(
          "compliance_check",
          { propertyId: id, channel: c, playerIds: players.map((p) => p.id), ...at },
          id,
        );
        for (const [index, result] of said.results.entries()) {
          const player = players[index]!;
          const why = bars.against(player, c);
          if (result.allowed && why.length > 0)
            wrong.push(
              `${c} +${hours}h ${player.player_id} ${player.email} ${player.phone} ${player.status} ${identity(player)}: ${why}`,
            );
        }
      }
    }
    return wrong;
  }
  /** The players with a bar whom a campaign of emails to everybody reaches. */
  async function falseSends(): Promise<string[]> {
    const content = { subject: "Hello", body_html: "<p>Double points.</p>" };
    const { id: campaignId } = await service.call(
      "create_campaign",
      { name: "All", audience: "all", ...content },
      id,
    );
    await service.call("send_campaign", { campaignId, propertyId: id }, id);
    for (const only of ["plan_campaign", "deliver_campaign"]) while (await runNext(service, id, { only }));
    const sent = await db.asProperty(
      id,
      (sql) => sql<{ player_id: string }[]>`
        select player_id from campaign_sends
        where property_id = ${id} and campaign_id = ${campaignId} and status <> 'skipped'`,
    );
    return sent.flatMap(({ player_id }) => {
      const player = bars.get(player_id)!;
      const why = bars.against(player, "email");
      return why.length > 0 ? [`${player.player_id} ${player.email}: ${why}`] : [];
    });
  }
  return { step, press, falseAllows, falseSends };
}
