import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CATALOG } from "#tools/catalog.ts";
import { overMcp } from "../../support/operation-calls.ts";
import { scenarioIn } from "../../support/scenario.ts";
import type { TestService } from "../../support/service.ts";
import { SCRIPT } from "../../tools/voice-calls/scenario.ts";

/** One person, whose every value is found nowhere else. */
export const CANARY = {
  first_name: "Zyxabel",
  last_name: "Quorvendish",
  email: "zyxabel.quorvendish@canarymail.example",
  phone: "+17025550123",
  birth_date: "1971-03-04",
  postal_code: "89172",
};
/** Values of the property's own fields, of events, and of what people write. */
export const WORDS = ["Wimblequay", "Trundelfaxe", "Pargleton"] as const;
const [OWN, TOLD, WRITTEN] = WORDS;
const IP = "203.0.113.77";

/** The words that no masked answer may have. */
export const SECRETS: readonly string[] = [
  ...[CANARY.first_name, CANARY.last_name, CANARY.email, "zyxabel.quorvendish", "canarymail"],
  ...["7025550123", "702-555-0123", "702) 555", CANARY.birth_date, CANARY.postal_code, IP],
  ...WORDS,
];

/** Ids, hashes, slugs of tests, and the fractions of a second. */
const RANDOM =
  /\b(?:(?:[0-9a-f]{16})+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|p-[0-9a-f]{8}-[0-9a-f]{4})\b|(?<=:\d\d)\.\d+/g;

/** An answer without what is random in it: the digits of a postal code or a phone stand there by chance. */
export const withoutRandom = (answer: string) => answer.replaceAll(RANDOM, "");

/** The person everywhere that one can be: each way in, each channel, and what comes of them. */
export async function plantCanary(service: TestService) {
  const { id: propertyId } = service.tenant;
  const scenario = scenarioIn(service, propertyId);
  const { call } = scenario;
  const receiver = createServer((request, response) => request.pipe(response));
  await new Promise<void>((listening) => receiver.listen(0, "127.0.0.1", listening));
  const hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  await call("create_webhook_endpoint", { url: hook, events: ["*"], include_pii: true });
  await call("create_custom_field", { key: "butler", label: "Butler", type: "text", is_pii: true });

  const player = (
    await call("create_player", { player_id: "C-1", ...CANARY, custom: { butler: OWN }, tier: "Gold" })
  ).id as string;
  const about = { propertyId, playerId: player };
  for (const channel of ["email", "sms", "voice"]) {
    await call("consent_record", {
      ...about,
      ...{ channel, consentGiven: true, consentSource: "desk", ipAddress: IP },
      consentText: `I, ${CANARY.first_name} ${WRITTEN}, agree.`,
      ...(channel === "voice" && { consentLevel: "express_written" }),
    });
  }
  const story = { guest: `${CANARY.first_name} ${TOLD}`, phone: "702-555-0123", amount: 12 };
  await call("create_player_event", { player_id: player, name: "dinner", properties: story });
  await call("create_dnc_entry", { phone: "+17025550124", list: "reassigned", note: `${WRITTEN} asked` });
  await call("update_player", { id: player, last_name: CANARY.last_name, custom: { butler: `${OWN} II` } });
  const conditions = [{ field: "tier", operator: "eq", value: "Gold" }];
  await call("create_segment", { name: "Gold", conditions });

  await service.post("/api/import_jobs", {
    rows: [
      {
        player_id: "C-2",
        Vorname: CANARY.first_name,
        email: `${CANARY.first_name} at canarymail`,
        Notiz: WRITTEN,
      },
      { player_id: "C-3", Vorname: CANARY.first_name, phone: "555 0123 ext", Telefon: "702-555-0123" },
    ],
  });
  const link = await call("create_upload_link", { propertyId });
  const csv = `player_id,Vorname,email,${"Notiz"}\nC-4,${CANARY.first_name},${CANARY.email},${WRITTEN}\n`;
  await fetch(service.baseUrl + new URL(link.url).pathname, { method: link.method ?? "PUT", body: csv });
  await service.post("/api/validation_jobs", {
    type: "email_validation",
    level: "syntax",
    emails: [CANARY.email, `${CANARY.email}@`],
  });

  await call("subscribe_push", {
    ...{ playerId: player, endpoint: "https://push.example/browsers/1", agreed: true },
    p256dh: "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
    auth: "tBHItJI5svbpez7KI4CCXg",
  });
  const words =
    "Dear {{ first_name }} {{ last_name }}, {{ email }}, {{ player.custom.butler }}, {{ player.birth_date }}";
  const campaigns: Record<string, string> = {};
  const make = async (channel: string, content: object) => {
    campaigns[channel] = (
      await call("create_campaign", { name: channel, channel, audience: "all", ...content })
    ).id;
  };
  const page = "https://casino.example/?n={{ first_name }}&m={{ email | url_encode }}";
  await make("email", { subject: words, body_html: `<p>${words}</p><a href="${page}">see</a>` });
  await make("sms", { body_text: "{{ first_name }} {{ player.custom.butler }}: 2 for 1" });
  await make("inbox", {
    subject: words,
    body_text: words,
    inbox: {
      cta_label: "For {{ first_name }}",
      cta_url: page,
      offer: { type: "comp", value: "{{ first_name }}", code: "{{ last_name }}" },
    },
  });
  await make("push", { subject: "{{ first_name }}", body_text: words });
  const said = "Hello {{ first_name }} {{ player.custom.butler }}, press 1.";
  const voice_script = { ...SCRIPT, turns: [{ ...SCRIPT.turns[0], say: said }, ...SCRIPT.turns.slice(1)] };
  await make("voice", { voice_script });
  await service.idle();
  await call("send_test_message", { campaignId: campaigns.email, ...about });
  for (const channel of ["email", "sms", "inbox", "push", "voice"]) {
    const tool = channel === "sms" ? "send_sms_campaign" : "send_campaign";
    await call(tool, { campaignId: campaigns[channel], propertyId });
  }
  await service.idle();

  const game = (await call("create_game", { name: "Wheel", type: "instant_win", draw: "independent" }))
    .id as string;
  await call("create_code_pool", { name: "Codes" });
  await call("create_game_prize", { game_id: game, label: "Ten", kind: "comp", weight: 1, value: 10 });
  await call("grant_game_tickets", { gameId: game, propertyId, playerIds: [player], key: "gift" });
  await call("activate_game", { gameId: game, propertyId });
  await call("play_game", {
    gameId: game,
    ...about,
    clientSeed: `${CANARY.first_name}-${WRITTEN}`,
  });

  const made = await call("create_journey_from_recipe", {
    propertyId,
    settings: { recipe: "welcome" },
    name: "Welcome",
  });
  const journey = made.journey.id as string;
  await call("publish_journey", { journeyId: journey, propertyId });
  await call("create_player_event", { player_id: player, name: "signup", properties: story });
  await service.idle();

  await call("create_privacy_request", {
    player_id: player,
    type: "correction",
    regulation: "ccpa",
    note: `${WRITTEN} wrote`,
  });
  await call("create_self_exclusion", {
    ...{ first_name: "Else", last_name: CANARY.last_name, birth_date: CANARY.birth_date },
    ...{ program: "state", jurisdiction: "NV", external_ref: WRITTEN },
  });
  await call("receive_sms", {
    propertyId,
    from: CANARY.phone,
    to: "+18005550000",
    text: `${WRITTEN} here, stop that`,
  });
  await call("create_social_share", {
    player_id: player,
    network: "x",
    content_type: "game",
    content_id: game,
  }).catch((e) => console.log(String(e)));
  await call("create_template", {
    name: "Letter",
    channel: "email",
    subject: words,
    html: `<p>${words}</p>`,
  });
  await call("create_quiet_hours_rule", {
    channel: ["sms"],
    open_local: "00:00",
    close_local: "24:00",
    country: "US",
  });
  await call("create_sms_keyword", { text: "HALT", action: "stop" });
  await call("create_message_provider", {
    channel: "email",
    kind: "mailbox",
    name: "Mailbox",
    allows_gaming: true,
  });
  await service.idle();
  await proposeSending(service);
  return { propertyId, player, upload: link.upload_id as string, receiver };
}

/** A campaign that an agent has proposed to send, which waits for a manager. */
async function proposeSending(service: TestService): Promise<void> {
  const { id: propertyId } = service.tenant;
  const twin = {
    player_id: "C-9",
    first_name: CANARY.first_name,
    email: `second.${CANARY.email}`,
    tier: "Gold",
  };
  const { id: playerId } = await service.call("create_player", twin, propertyId);
  const consent = { channel: "email", consentGiven: true, consentSource: "desk" };
  await service.call("consent_record", { ...consent, propertyId, playerId }, propertyId);
  const letter = { name: "Proposed", channel: "email", audience: "all", subject: "For {{ first_name }}" };
  const { id } = await service.call(
    "create_campaign",
    { ...letter, body_html: "<p>{{ email }}</p>" },
    propertyId,
  );
  await service.call("update_property", { propertyId, approval_over_players: 1 });
  const told = await overMcp(service, CATALOG.operations.get("send_campaign")!, {
    campaignId: id,
    propertyId,
  });
  if (!told.data.approval_required) throw new Error(JSON.stringify(told));
}
