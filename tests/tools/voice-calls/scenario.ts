import { addressHash } from "#tools/people/address.ts";
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
const nextPhone = () => {
  phones += 1;
  return { player_id: `v-${phones}`, phone: `+1702555${String(1000 + phones)}` };
};

/** A property whose players can be called, and short calls for what the tests do in it. */
export async function callScenario(service: TestService, settings: object = {}) {
  const scenario = await newScenario(service, settings);
  return {
    ...callsIn(scenario),
    /** Many who have agreed so, at once. */
    async callers(count: number): Promise<string[]> {
      const { pepper } = (await service.internals.directory.property(scenario.id))!;
      const rows = Array.from({ length: count }, () => {
        const named = nextPhone();
        return { ...named, hash: addressHash(pepper, named.phone).toString("hex") };
      });
      const made = await scenario.query(
        (sql) => sql<{ id: string }[]>`
          insert into players (property_id, player_id, phone, phone_hash, first_name, consents, consent_levels)
          select ${scenario.id}, player_id, phone, decode(hash, 'hex'), 'Ana', '{"voice": true}',
            '{"voice": "express_written"}'
          from jsonb_to_recordset(${rows as never}::jsonb) as r(player_id text, phone text, hash text) returning id`,
      );
      return made.map(({ id }) => id);
    },
  };
}

/** The same in a property that there is. */
export function callsIn(scenario: Scenario) {
  return {
    ...scenario,
    /** A player who has agreed in writing to calls. */
    async caller(fields: object = {}): Promise<string> {
      const { id } = await scenario.call("create_player", { ...nextPhone(), first_name: "Ana", ...fields });
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
