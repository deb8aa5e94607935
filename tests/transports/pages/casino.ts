import { startService, type TestService } from "../../support/service.ts";

/** A casino with a theme, a player, and messages in the player's inbox. */
export interface Casino {
  service: TestService;
  playerId: string;
  /** The address of the player's inbox. */
  inbox: string;
  /** Sends a message to all players' inboxes. Answers its campaign. */
  send(fields: object): Promise<string>;
  /** The same, without waiting for its end. */
  start(fields: object): Promise<string>;
  link(to?: string, playerId?: string): Promise<string>;
  token(playerId?: string): Promise<string>;
}

/** Three looks: the service's own, a bright one, and a dark brand. */
export const THEMES: Record<string, object> = {
  default: {},
  azure: {
    name: "Azure Bay Casino",
    light: { ground: "#eef4fa", brand: "#0b4f8a", accent: "#0a6b52", line: "#74818f", soft: "#4d5a68" },
    dark: { ground: "#0c141d", paper: "#15202c", brand: "#7cc0ff", on_brand: "#06131f", accent: "#63d5b3" },
  },
  noir: {
    name: "Noir & Gold",
    light: { ground: "#f6f2e9", brand: "#1c1a17", on_brand: "#f3d98b", accent: "#7a5a10", line: "#857b66" },
    dark: { ground: "#0f0e0c", paper: "#1b1916", brand: "#e8c766", on_brand: "#1b1505", accent: "#f0b98a" },
  },
};

export const FREE_PLAY = {
  subject: "{{ first_name }}, $25 free play is yours",
  body_text:
    "As a Gold member you have $25 free play this weekend.\n\nIt is ready at every slot machine: insert your card and pick it up.\n\nQuestions? https://demo-casino.example/freeplay tells you more.",
  inbox: {
    category: "Rewards",
    cta_label: "Reserve a seat",
    cta_url: 'https://demo-casino.example/seats?tier={{ tier | default: "none" }}',
    offer: { type: "Free play", value: "$25", code: "GOLD-7731", valid_days: 14 },
  },
};

export async function openCasino(): Promise<Casino> {
  const service = await startService();
  const propertyId = service.tenant.id;
  const { id: playerId } = await service.call(
    "create_player",
    { player_id: "guest", first_name: "Ana", tier: "Gold", language: "en-US" },
    propertyId,
  );
  const call = (name: string, input: object) => service.call(name, { propertyId, ...input }, propertyId);
  const link: Casino["link"] = async (to = "inbox", id = playerId) =>
    (await call("create_player_link", { playerId: id, to })).url.replace(
      service.internals.config.baseUrl,
      service.baseUrl,
    );
  const start: Casino["start"] = async (fields) => {
    const { id } = await service.call(
      "create_campaign",
      { name: "In the house", channel: "loyaltyvip", audience: "all", body_text: "Come in.", ...fields },
      propertyId,
    );
    await call("send_campaign", { campaignId: id });
    return id;
  };
  return {
    service,
    playerId,
    inbox: await link(),
    link,
    token: async (id = playerId) => (await call("create_subject_token", { playerId: id, to: "inbox" })).token,
    start,
    async send(fields) {
      const id = await start(fields);
      await service.idle();
      return id;
    },
  };
}
