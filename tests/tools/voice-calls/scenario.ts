import { newScenario, type Scenario } from "../../support/scenario.ts";
import type { TestService } from "../../support/service.ts";

/** The script of the tests: an offer, its details, and a goodbye. */
export const SCRIPT = {
  callback_number: "+1 800 555 0100",
  turns: [
    {
      id: "offer",
      say: 'Hello {{ first_name | default: "there" }}, you have free play this weekend. Press 1 to hear more.',
      listen: [
        { keys: "1", phrases: ["yes", "tell me more"], next: "details" },
        { keys: "2", phrases: ["no"], next: "goodbye" },
      ],
    },
    { id: "details", say: "It waits for you at the players club.", next: "goodbye" },
    { id: "goodbye", say: "Thank you, and good luck." },
  ],
  on_voicemail: "You have free play this weekend.",
};

let phones = 0;

/** A property whose players can be called, and short calls for what the tests do in it. */
export async function callScenario(service: TestService, settings: object = {}) {
  return callsIn(await newScenario(service, settings));
}

/** The same in a property that there is. */
export function callsIn(scenario: Scenario) {
  return {
    ...scenario,
    /** A player who has agreed in writing to calls. */
    async caller(fields: object = {}): Promise<string> {
      phones += 1;
      const phone = `+1702555${String(1000 + phones)}`;
      const { id } = await scenario.call("create_player", {
        player_id: `v-${phones}`,
        first_name: "Ana",
        phone,
        ...fields,
      });
      await scenario.call("consent_record", {
        propertyId: scenario.id,
        playerId: id,
        channel: "voice",
        consentGiven: true,
        consentLevel: "express_written",
        consentSource: "players club",
        consentText: "I agree to automated calls from Casino LLC.",
      });
      return id;
    },
    voiceCampaign: (fields: object = {}): Promise<string> =>
      scenario.campaign({
        channel: "voice",
        subject: null,
        body_html: null,
        voice_script: SCRIPT,
        ...fields,
      }),
    calls: (filters: object = {}) => scenario.call("list_voice_calls", { filters, order: "created_at.asc" }),
  };
}

export type CallScenario = Awaited<ReturnType<typeof callScenario>>;
