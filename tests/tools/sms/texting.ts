import type { House } from "../../support/house.ts";
import { casino } from "../campaigns/casino.ts";

/** Short words for what SMS tests do in the house's property. */
export function texting(house: House) {
  const propertyId = house.tenant.id;
  const lucky = casino(house, propertyId);
  const { call } = lucky;
  return {
    ...lucky,
    /** Whatever time it is where the tests run. */
    neverQuiet: () =>
      lucky.query((sql) => sql`delete from quiet_hours_rules where property_id = ${propertyId}`),
    get: (path: string) => house.get(path, { "X-Api-Key": house.tenant.key }),
    post: (path: string, body: object) => house.post(path, body, { "X-Api-Key": house.tenant.key }),
    /** A player with that number, who may be texted unless `consent` is false or there is no number. */
    async player(
      name: string,
      phone: string | null,
      { consent = true, ...fields }: { consent?: boolean } & Record<string, unknown> = {},
    ): Promise<string> {
      const { id } = await call("create_player", { player_id: name, first_name: name, phone, ...fields });
      if (consent && phone !== null) {
        await call("consent_record", {
          propertyId,
          playerId: id,
          channel: "sms",
          consentGiven: true,
          consentSource: "desk",
        });
      }
      return id;
    },
    campaign: async (text: string | null, fields: object = {}): Promise<string> => {
      const content = { name: "Weekend", channel: "sms", audience: "all", body_text: text };
      return (await call("create_campaign", { ...content, ...fields })).id;
    },
    send: (campaignId: string) => call("send_sms_campaign", { campaignId, propertyId }),
    /** What the mailbox has been given, oldest first. */
    texts: () =>
      lucky.query(
        (sql) => sql<{ id: string; recipient: string; sender: string | null; text: string }[]>`
          select id, recipient, sender, text from mailbox_messages
          where property_id = ${propertyId} and channel = 'sms' order by created_at, id`,
      ),
    /** By player: what became of the send, or why there was none. */
    async outcomes(campaignId: string): Promise<Record<string, string>> {
      const sends = await lucky.sends(campaignId);
      return Object.fromEntries(
        sends.map(({ player, status, skip_reasons, error_code }) => [
          player,
          error_code ?? (skip_reasons.length > 0 ? [...skip_reasons].sort().join() : status),
        ]),
      );
    },
  };
}

export type Texting = ReturnType<typeof texting>;
