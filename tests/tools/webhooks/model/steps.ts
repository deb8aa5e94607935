import type { TestService } from "../../../support/service.ts";
import type { Act } from "./acts.ts";
import type { Endpoint } from "./book.ts";
import { type Casino, openCasino } from "./casino.ts";
import { checkRecords } from "./checks.ts";

type Step<Name extends Act["act"]> = (act: Extract<Act, { act: Name }>) => Promise<void>;
type Steps = { [Name in Act["act"]]: Step<Name> };

interface Player {
  id: string;
  email: string;
  /** By which the person is known in events. */
  words: string[];
  tier: string | null;
}

/** The acts on a casino. A scribe hears of everything, so that the outbox stores all events. */
export async function openSteps(service: TestService) {
  const casino = await openCasino(service);
  const rival = await openCasino(service);
  await casino.subscribe({ events: ["*"], include_pii: true });
  await rival.subscribe({ events: ["*"], include_pii: true });
  const steps: Steps = { ...endpointSteps(casino), ...playerSteps(casino, rival), ...timeSteps(casino) };
  return {
    step: (act: Act) => (steps[act.act] as Step<typeof act.act>)(act as never),
    /** All receivers are well again, and everything is sent. Answers all that was wrong. */
    finish: async (): Promise<string[]> => {
      for (const one of [casino, rival]) {
        for (const { url } of one.book.endpoints) one.wire.treat(url, "ok");
        await pass(one);
        await one.deliver();
        await checkRecords(one);
        for (const { status, event, endpoint } of one.book.owed) {
          if (status === "pending") one.complain(`${event.type} ${event.id} did not reach ${endpoint}`);
        }
      }
      return [...casino.wrong, ...rival.wrong];
    },
    close: () => Promise.all([casino.close(), rival.close()]),
  };
}

/** Times of attempts and rests come; so does the time of the jobs that wait for them. */
async function pass({ asTenant, property, book, service }: Casino): Promise<void> {
  await asTenant(async (sql) => {
    await sql`
      update webhook_deliveries set next_attempt_at = now() where property_id = ${property} and status = 'pending'`;
    await sql`update webhook_endpoints set resting_until = null where property_id = ${property}`;
  });
  await service.database.db.asSystem(
    (sql) =>
      sql`update queue set run_at = now() where property_id = ${property} and name = 'deliver_webhooks'`,
  );
  for (const one of book.owed) one.isDue = true;
  for (const one of book.endpoints) one.rests = false;
}

type EndpointActs =
  | "subscribe"
  | "resubscribe"
  | "widen"
  | "switch"
  | "unsubscribe"
  | "rotate"
  | "endOverlap"
  | "treat";

function endpointSteps(casino: Casino): Pick<Steps, EndpointActs> {
  const { book, wire, scenario, property, asTenant } = casino;
  const chosen = chooser(casino);
  const change = async (which: number, input: Partial<Endpoint>) => {
    const endpoint = chosen(which);
    if (!endpoint) return;
    await scenario.call("update_webhook_endpoint", { id: endpoint.id, ...input });
    Object.assign(endpoint, input);
    return endpoint;
  };
  return {
    subscribe: async ({ events, include_pii }) => void (await casino.subscribe({ events, include_pii })),
    resubscribe: async ({ which, events }) => void (await change(which, { events })),
    widen: async ({ which, include_pii }) => void (await change(which, { include_pii })),
    switch: async ({ which, is_active }) => {
      const endpoint = await change(which, { is_active });
      if (endpoint && is_active)
        Object.assign(endpoint, { isFailing: false, isLongFailing: false, rests: false });
      await casino.deliver();
      await checkRecords(casino);
    },
    unsubscribe: async ({ which }) => {
      const endpoint = chosen(which);
      if (!endpoint) return;
      await scenario.call("delete_webhook_endpoint", { id: endpoint.id });
      book.deleted(endpoint);
    },
    rotate: async ({ which, overlapHours }) => {
      const endpoint = chosen(which);
      if (!endpoint) return;
      const input = { propertyId: property, endpointId: endpoint.id, overlapHours };
      const { secret } = await scenario.call("rotate_webhook_secret", input);
      endpoint.previous = overlapHours > 0 ? endpoint.secret : null;
      endpoint.secret = secret;
    },
    endOverlap: async ({ which }) => {
      const endpoint = chosen(which);
      if (!endpoint) return;
      await asTenant(
        (sql) => sql`
          update webhook_endpoints set previous_secret_until = now() where property_id = ${property} and id = ${endpoint.id}`,
      );
      endpoint.previous = null;
    },
    treat: async ({ which, mood }) => {
      const endpoint = chosen(which);
      if (endpoint) wire.treat(endpoint.url, mood);
    },
  };
}

/** Endpoints by number, without the scribe. */
function chooser({ book }: Casino) {
  return (which: number): Endpoint | undefined => {
    const there = book.endpoints.slice(1).filter(({ isDeleted }) => !isDeleted);
    return there[which % (there.length || 1)];
  };
}

type PlayerActs =
  | "create"
  | "change"
  | "remove"
  | "import"
  | "merge"
  | "erase"
  | "send"
  | "agree"
  | "refuse"
  | "rival";

function playerSteps(casino: Casino, rival: Casino): Pick<Steps, PlayerActs> {
  const { scenario, service, property, key } = casino;
  const players: Player[] = [];
  let made = 0;
  const chosen = (which: number): Player | undefined => players[which % (players.length || 1)];
  const fresh = () => {
    const n = ++made;
    return { player_id: `P${n}q`, email: `mail${n}q@example.com`, first_name: `Zed${n}q`, tier: "Bronze" };
  };
  const enter = (fields: ReturnType<typeof fresh>, id: string) =>
    players.push({
      id,
      email: fields.email,
      tier: fields.tier,
      words: [id, `"${fields.player_id}"`, fields.email, fields.first_name],
    });
  const expected = async (names: string[]) => {
    await scenario.work();
    const seen = await casino.look();
    if (seen.join() !== names.sort().join()) casino.complain(`events ${seen} in place of ${names}`);
  };
  const consent = (player: Player, consentGiven: boolean) =>
    scenario.call("consent_record", {
      ...{ propertyId: property, playerId: player.id, channel: "email", consentGiven },
      ...{ consentSource: "desk", consentText: "I agree to offers", occurredAt: new Date().toISOString() },
    });
  return {
    create: async ({ count }) => {
      const rows = Array.from({ length: count }, fresh);
      const { status, body, text } = await service.post("/api/players", count === 1 ? rows[0] : rows, {
        "X-Api-Key": key,
      });
      if (status !== 201) throw new Error(text);
      for (const [i, { id }] of [body].flat().entries()) enter(rows[i]!, id);
      await expected(rows.map(() => "player.created"));
    },
    change: async ({ which, tier }) => {
      const player = chosen(which);
      if (!player) return;
      await scenario.call("update_player", { id: player.id, tier });
      await expected(player.tier === tier ? [] : ["player.updated", "player.tier_changed"]);
      player.tier = tier;
    },
    remove: async ({ which }) => {
      const player = chosen(which);
      if (!player) return;
      await scenario.call("delete_player", { id: player.id });
      players.splice(players.indexOf(player), 1);
      await expected(["player.deleted"]);
    },
    import: async ({ fresh: count, known }) => {
      const rows = Array.from({ length: count }, fresh);
      const changed = players.slice(0, known);
      const lines = [
        ...rows.map((row) => [row.player_id, row.email, row.first_name, row.tier]),
        ...changed.map(({ words, email }) => [words[1]!.slice(1, -1), email, words[3], "Ruby"]),
      ];
      const csv = ["player_id,email,first_name,tier", ...lines.map((line) => line.join())].join("\n");
      const { status, text } = await service.post(
        "/api/import_jobs",
        { type: "player_import", csv },
        { "X-Api-Key": key },
      );
      if (status !== 202) throw new Error(text);
      const ruby = changed.filter(({ tier }) => tier !== "Ruby");
      await expected([
        ...rows.map(() => "player.created"),
        ...ruby.flatMap(() => ["player.updated", "player.tier_changed"]),
        "job.completed",
      ]);
      for (const player of changed) player.tier = "Ruby";
      for (const row of rows) {
        const [found] = await scenario.call("list_players", { filters: { "player_id.eq": row.player_id } });
        enter(row, found.id);
      }
    },
    merge: async ({ which, other }) => {
      const [kept, gone] = [chosen(which), chosen(other)];
      if (!kept || !gone || kept === gone) return;
      await scenario.call("merge_players", { propertyId: property, playerId: kept.id, duplicateId: gone.id });
      players.splice(players.indexOf(gone), 1);
      kept.words.push(...gone.words);
      await scenario.work();
      await casino.look();
      kept.tier = (await scenario.call("get_player", { id: kept.id })).tier;
    },
    erase: async ({ which }) => {
      const player = chosen(which);
      if (!player) return;
      await scenario.call("data_deletion", { propertyId: property, playerId: player.id });
      players.splice(players.indexOf(player), 1);
      await scenario.work();
      const gone = new Set(casino.book.erased(player.words));
      await casino.look();
      const left = (await casino.stored()).filter(({ id }) => gone.has(id));
      if (left.length > 0) casino.complain(`after an erasure there is ${JSON.stringify(left)}`);
    },
    send: async () => {
      await scenario.send(await scenario.campaign());
      await scenario.work();
      await casino.look();
    },
    agree: async ({ which }) => {
      const player = chosen(which);
      if (!player) return;
      await consent(player, true);
      await expected(["consent.granted"]);
    },
    refuse: async ({ which }) => {
      const player = chosen(which);
      if (!player) return;
      await consent(player, false);
      await scenario.work();
      await casino.look();
    },
    rival: async () => {
      await rival.scenario.call("create_player", fresh());
      await rival.look();
      await rival.deliver();
    },
  };
}

type TimeActs = "deliver" | "dieDelivering" | "pass" | "fiveDays" | "test" | "replay" | "redeliver";

function timeSteps(casino: Casino): Pick<Steps, TimeActs> {
  const { book, scenario, property, asTenant } = casino;
  const chosen = chooser(casino);
  const about = (endpoint: Endpoint) => ({ propertyId: property, endpointId: endpoint.id });
  const active = (which: number) => {
    const endpoint = chosen(which);
    return endpoint?.is_active ? endpoint : undefined;
  };
  return {
    deliver: async () => {
      await casino.deliver();
      await checkRecords(casino);
    },
    dieDelivering: async ({ which, commits }) => {
      const endpoint = chosen(which);
      if (!endpoint) return;
      const jobId = casino.newJobId();
      await casino.run(endpoint, jobId, commits);
      // Its lease ends, and the job is claimed again.
      await casino.run(endpoint, jobId);
      book.settled();
    },
    pass: () => pass(casino),
    fiveDays: async ({ which }) => {
      const endpoint = chosen(which);
      if (!endpoint?.isFailing) return;
      await asTenant(
        (sql) => sql`
          update webhook_endpoints set failing_since = now() - interval '6 days'
          where property_id = ${property} and id = ${endpoint.id}`,
      );
      endpoint.isLongFailing = true;
    },
    test: async ({ which }) => {
      const endpoint = active(which);
      if (!endpoint) return;
      await scenario.call("test_webhook", about(endpoint));
      endpoint.rests = false;
      await casino.look(endpoint.id);
    },
    replay: async ({ which, status }) => {
      const endpoint = active(which);
      if (!endpoint) return;
      await casino.deliver();
      if (!endpoint.is_active) return;
      const owed = book
        .of(endpoint)
        .filter((one) => one.status === status && !(status === "pending" && one.isDue));
      const { replayed } = await scenario.call("replay_webhooks", {
        ...about(endpoint),
        since: "2020-01-01T00:00:00Z",
        status,
      });
      if (replayed !== owed.length) casino.complain(`${replayed} were replayed, and not ${owed.length}`);
      for (const one of owed) book.again(one);
      endpoint.rests = false;
    },
    redeliver: async ({ which, delivery }) => {
      const endpoint = active(which);
      if (!endpoint) return;
      await casino.deliver();
      const owed = book.of(endpoint);
      const one = owed[delivery % (owed.length || 1)];
      if (!one || !endpoint.is_active) return;
      const row = (await casino.listed(endpoint)).find(({ event_id }) => event_id === one.event.id);
      await scenario.call("redeliver_webhook", { propertyId: property, deliveryId: row!.id });
      book.again(one);
      endpoint.rests = false;
    },
  };
}
