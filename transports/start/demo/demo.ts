import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { toFault } from "#runtime/faults.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import type { Service } from "#runtime/funnel/service.ts";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Call } from "#runtime/operation/context.ts";
import { activityOf, withActivity } from "#runtime/telemetry/activity.ts";
import { prepareCalls } from "./calls.ts";
import { createGames } from "./games.ts";
import { fillInboxes, type PlayerUrls, playerUrls, type RunOperation, subscribeBrowsers } from "./inbox.ts";
import { demoPlayers } from "./players.ts";
import { createTemplates } from "./templates.ts";

const SLUG = "demo";
const PLAYERS = 1_000;
const ADMIN = "admin@demo.example";

export interface Demo {
  property: { id: string; name: string };
  players: number;
  /** Null after it was sent. */
  campaignId: string | null;
  /** Null after it was shown. */
  apiKey: string | null;
  /** The password is null after it was shown. Null where the user has another email by now. */
  admin: { id: string; email: string; password: string | null } | null;
  /** The pages of one player; null where no player has a message. */
  playerUrls: PlayerUrls | null;
}

/**
 * The demo property: made by operations on an empty database, found at later starts. An interrupted one is renamed,
 * and a new one is made. Null if the database has other properties.
 */
export async function prepareDemo(
  service: Service,
  catalog: Catalog,
  idle: () => Promise<void>,
): Promise<Demo | null> {
  const [found] = await service.db.asSystem(
    (sql) => sql<FoundProperty[]>`
    select p.id, p.name, p.slug, exists (select from api_keys k where k.property_id = p.id) as finished
    from properties p order by p.slug = ${SLUG} desc limit 1`,
  );
  if (!found) return createDemo(service, catalog, idle);
  if (found.slug !== SLUG) return null;
  if (found.finished) return findDemo(service, catalog, found);
  await service.db.asSystem(async (sql) => {
    const [slug, name] = [`${SLUG}-${found.id}`, `${found.name} (interrupted)`];
    await sql`update properties set slug = ${slug}, name = ${name} where id = ${found.id}`;
    await sql`delete from users where email = ${ADMIN}`;
  });
  return createDemo(service, catalog, idle);
}

interface FoundProperty {
  id: string;
  name: string;
  slug: string;
  /** The key is made last. */
  finished: boolean;
}

async function findDemo(
  service: Service,
  catalog: Catalog,
  property: { id: string; name: string },
): Promise<Demo> {
  const [campaign] = await service.db.asProperty(
    property.id,
    (sql) => sql<{ id: string; status: string }[]>`
    select id, status from campaigns
    where property_id = ${property.id} and deleted_at is null order by created_at, id limit 1`,
  );
  const [admin] = await service.db.asSystem(
    (sql) => sql<{ id: string; email: string }[]>`select id, email from users where email = ${ADMIN}`,
  );
  return {
    property,
    players: await countPlayers(service, property.id),
    campaignId: campaign?.status === "draft" ? campaign.id : null,
    apiKey: null,
    admin: admin ? { ...admin, password: null } : null,
    playerUrls: await playerUrls(service, property.id, runner(service, catalog, property.id)),
  };
}

async function countPlayers({ db }: Service, propertyId: string): Promise<number> {
  const [row] = await db.asProperty(
    propertyId,
    (sql) => sql<{ players: number }[]>`
    select count(*) as players from players where property_id = ${propertyId} and deleted_at is null`,
  );
  return row!.players;
}

async function createDemo(service: Service, catalog: Catalog, idle: () => Promise<void>): Promise<Demo> {
  const run = runner(service, catalog);
  const property = (await run("create_property", {
    name: "Demo Casino Resort",
    slug: SLUG,
    legal_name: "Demo Casino Resort LLC",
    postal_address: "1 Boardwalk, Atlantic City, NJ 08401",
    privacy_policy_url: "https://demo-casino.example/privacy",
    responsible_gaming_footer: "Must be 21 or older. Gambling problem? Call 1-800-GAMBLER.",
    from_email: "offers@demo-casino.example",
    from_name: "Demo Casino Resort",
  })) as { id: string; name: string };
  const inProperty = runner(service, catalog, property.id);
  await inProperty("create_import_job", {
    type: "player_import",
    csv: demoPlayers(PLAYERS, new Date()),
    mapping: { email_opt_in: "consent.email", sms_opt_in: "consent.sms" },
    consent: {
      consentSource: "players club",
      consentVersion: "2026-01",
      consentText: "I agree to receive offers from Demo Casino Resort.",
    },
  });
  await idle();
  await blockSome(service, property.id, inProperty);
  await createTemplates(inProperty);
  const campaignId = await createCampaigns(inProperty);
  await createJourney(service, property.id, inProperty);
  await createGames(service, property.id, inProperty);
  await fillInboxes(property.id, inProperty);
  await idle();
  await subscribeBrowsers(service, property.id, inProperty);
  await prepareCalls(service, property.id, inProperty);
  const password = randomBytes(12).toString("base64url");
  const admin = (await run("create_user", {
    email: ADMIN,
    password,
    name: "Demo Admin",
    is_platform_admin: true,
  })) as {
    id: string;
  };
  await run("grant_membership", { property_id: property.id, user_id: admin.id, role: "admin" });
  const key = await run("create_api_key", { property_id: property.id, name: "demo", rate_limit: 1_000 });
  return {
    property: { id: property.id, name: property.name },
    players: await countPlayers(service, property.id),
    campaignId,
    apiKey: String(key.api_key),
    admin: { id: admin.id, email: ADMIN, password },
    playerUrls: await playerUrls(service, property.id, inProperty),
  };
}

/** Suppresses some players, puts some on the do-not-call list, and excludes some. */
async function blockSome(service: Service, propertyId: string, run: RunOperation): Promise<void> {
  const players = await service.db.asProperty(
    propertyId,
    (sql) => sql<{ id: string; email: string; phone: string }[]>`
    select id, email, phone from players
    where property_id = ${propertyId} and email is not null and phone is not null
    order by player_id limit 400`,
  );
  const every = (step: number, from: number) => players.filter((_, index) => index % step === from);
  for (const { email } of every(20, 0)) {
    await run("create_suppression", { channel: "email", address: email, reason: "manual", source: "demo" });
  }
  for (const { phone } of every(25, 1))
    await run("create_dnc_entry", { phone, list: "internal", source: "demo" });
  for (const { id } of every(40, 2)) {
    await run("create_self_exclusion", { player_id: id, program: "demo", jurisdiction: "US-NJ" });
  }
}

/** Creates two campaigns and returns the id of the first. */
async function createCampaigns(run: RunOperation): Promise<string> {
  const segment = await run("create_segment", {
    name: "Gold and above",
    description: "Players of the three highest tiers.",
    conditions: [{ field: "tier", operator: "in", value: ["Gold", "Platinum", "Diamond"] }],
  });
  const { id } = await run("create_campaign", {
    name: "Weekend free play",
    channel: "email",
    segment_id: segment.id,
    subject: '{{ first_name | default: "Hello" }}, your weekend free play is here',
    preheader: "Valid Friday to Sunday.",
    body_html:
      '<h1>Hello {{ first_name | default: "friend" }}</h1><p>As a <strong>{{ tier }}</strong> member you have $25 free play this weekend.</p><p><a class="button" href="https://demo-casino.example/offers/weekend">See my offer</a></p>',
  });
  await run("create_segment", {
    name: "Dinner guests",
    description: "Players whom the hosts have invited, one by one.",
    type: "static",
  });
  // Created second: the welcome offers to send the first campaign.
  await run("create_campaign", {
    name: "Double points by text",
    channel: "sms",
    segment_id: segment.id,
    body_text: 'Demo Casino: {{ first_name | default: "hello" }}, double points this Friday to Sunday. 21+.',
  });
  return String(id);
}

/** A published welcome journey with some players in it. */
async function createJourney({ db }: Service, propertyId: string, run: RunOperation): Promise<void> {
  const made = await run("create_journey_from_recipe", {
    propertyId,
    settings: { recipe: "welcome" },
    name: "Welcome",
  });
  const { id: journeyId } = made.journey as { id: string };
  await run("publish_journey", { journeyId, propertyId });
  const newcomers = await db.asProperty(
    propertyId,
    (sql) => sql<{ id: string }[]>`
      select id from players where property_id = ${propertyId} and deleted_at is null order by player_id desc limit 12`,
  );
  for (const { id } of newcomers) await run("create_player_event", { player_id: id, name: "signup" });
}

function runner(service: Service, catalog: Catalog, propertyId?: string): RunOperation {
  const call: Call = {
    actor: { type: "system", id: null },
    transport: "cli",
    requestId: randomUUID(),
    propertyId,
    client: "demo",
  };
  return async (name, input) => {
    const operation = catalog.operations.get(name);
    if (!operation) throw new Error(`the demo needs the operation ${name}`);
    // An activity of its own: it is tried again, so a refusal is no line of the log.
    const trying = () => withActivity(activityOf(null), () => invoke(service, operation, call, input));
    return JSON.parse((await repeated(trying)).body);
  };
}

const MOST_TRIES = 30;

/** Repeats an operation for which a slow machine is not ready yet: the start itself keeps it busy. */
async function repeated<T>(operation: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await operation();
    } catch (error) {
      const { code, retryAfter = 1 } = toFault(error);
      if (code !== "unavailable" || tries === MOST_TRIES) throw error;
      await setTimeout(retryAfter * 1_000);
    }
  }
}
