import type { Service } from "#runtime/funnel/service.ts";

export type RunOperation = (name: string, input: object) => Promise<Record<string, unknown>>;

const THIRTY_DAYS = 30 * 24 * 3_600;

const MESSAGES = [
  {
    name: "Inbox: the Terrace",
    subject: "Brunch for two at the Terrace",
    body_text:
      "This Sunday from 10 to 2, brunch is on us. Bring someone you like.\n\nA table by the window is kept for our members until noon.",
    inbox: { category: "Dining", offer: { type: "Brunch for two", value: "On the house", valid_days: 10 } },
  },
  {
    name: "Inbox: new tables",
    subject: "Twelve new tables on the first floor",
    body_text: "The Lucky Dragon room is open every day from noon. Our hosts show you the new games.",
    inbox: { category: "News" },
  },
  {
    name: "Inbox: the lucky wheel",
    subject: "Three spins a day are yours",
    body_text: "The lucky wheel turns until the end of the season. The first prize is a dinner for two.",
    inbox: { category: "Games", cta_label: "Spin the wheel", cta_url: "{{ game_url }}" },
  },
  {
    name: "Inbox: weekend free play",
    subject: '{{ first_name | default: "Hello" }}, $25 free play is yours',
    body_text:
      'As a {{ tier | default: "valued" }} member you have $25 free play this weekend.\n\nInsert your card at any slot machine and pick it up there.',
    inbox: {
      category: "Rewards",
      pinned: true,
      cta_label: "Reserve a seat",
      cta_url: "https://demo-casino.example/seats",
      offer: { type: "Free play", value: "$25", code: "WEEKEND-25", valid_days: 14 },
    },
  },
];

/** A theme, and four campaigns into the inboxes of the highest tiers. */
export async function fillInboxes(propertyId: string, run: RunOperation): Promise<void> {
  await run("set_property_theme", {
    responsible_gaming_url: "https://demo-casino.example/take-a-break",
    join_url: "https://demo-casino.example/join",
    light: { ground: "#f4efe6", brand: "#12463c", accent: "#8a5a00" },
    dark: { ground: "#0d1513", paper: "#16211e", brand: "#7fd1b9", on_brand: "#06201a", accent: "#e8c06a" },
  });
  for (const message of MESSAGES) {
    const { id } = await run("create_campaign", {
      ...message,
      channel: "loyaltyvip",
      conditions: [{ field: "tier", operator: "in", value: ["Platinum", "Diamond"] }],
    });
    await run("send_campaign", { campaignId: id, propertyId });
  }
}

/** A point of P-256 and a secret, as every browser makes its own. No push service stands behind the address. */
const BROWSER = {
  p256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
  auth: "tBHItJI5svbpez7KI4CCXg",
};

/** Some browsers of players whom nothing bars, and a notification to them that is not sent yet. */
export async function subscribeBrowsers(
  { db }: Service,
  propertyId: string,
  run: RunOperation,
): Promise<void> {
  const players = await db.asProperty(
    propertyId,
    (sql) => sql<{ id: string }[]>`
      select distinct player_id as id from inbox_messages
      where property_id = ${propertyId} order by player_id limit 16`,
  );
  for (const [index, { id }] of players.entries()) {
    const { allowed } = await run("show_push", { playerId: id });
    if (!allowed) continue;
    const endpoint = `https://push.demo-casino.example/browsers/${index + 1}`;
    await run("subscribe_push", { playerId: id, endpoint, ...BROWSER, agreed: true });
  }
  await run("create_campaign", {
    name: "Push: tonight at the Terrace",
    channel: "push",
    subject: "A table by the window is free",
    body_text: '{{ first_name | default: "Good evening" }}, the Terrace keeps it for you until 8 pm.',
    audience: "all",
  });
}

/** The links to the pages of one player. */
export interface PlayerUrls {
  inbox: string;
  games: string;
  push: string;
}

/** The links of the first player who has the campaigns' messages; null where nobody has any. */
export async function playerUrls(
  { db }: Service,
  propertyId: string,
  run: RunOperation,
): Promise<PlayerUrls | null> {
  const [player] = await db.asProperty(
    propertyId,
    (sql) => sql<{ id: string }[]>`
      select p.id from players p
      where p.property_id = ${propertyId} and p.deleted_at is null and p.status = 'active' and exists (
        select from inbox_messages m
        where m.property_id = ${propertyId} and m.player_id = p.id and m.campaign_id is not null)
      order by p.player_id limit 1`,
  );
  if (!player) return null;
  const linkTo = async (to: string) => {
    const { url } = await run("create_player_link", { playerId: player.id, to, ttl: THIRTY_DAYS });
    return String(url);
  };
  return { inbox: await linkTo("inbox"), games: await linkTo("game"), push: await linkTo("push") };
}
