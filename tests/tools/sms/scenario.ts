import { scenarioIn } from "../../support/scenario.ts";
import type { TestService } from "../../support/service.ts";

/** A scenario by text message, in the service's own property. */
export function smsScenarioIn(service: TestService) {
  const propertyId = service.tenant.id;
  const scenario = scenarioIn(service, propertyId);
  const { call } = scenario;
  return {
    ...scenario,
    get: (path: string) => service.get(path, { "X-Api-Key": service.tenant.key }),
    post: (path: string, body: object) => service.post(path, body, { "X-Api-Key": service.tenant.key }),
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
    /** The messages in the mailbox, oldest first. */
    texts: () =>
      scenario.query(
        (sql) => sql<{ id: string; recipient: string; sender: string | null; text: string }[]>`
          select id, recipient, sender, text from mailbox_messages
          where property_id = ${propertyId} and channel = 'sms' order by created_at, id`,
      ),
    /** By player: what became of the send, or why there was none. */
    async outcomes(campaignId: string): Promise<Record<string, string>> {
      const sends = await scenario.sends(campaignId);
      return Object.fromEntries(
        sends.map(({ player, status, skip_reasons, error_code }) => [
          player,
          error_code ?? (skip_reasons.length > 0 ? [...skip_reasons].sort().join() : status),
        ]),
      );
    },
  };
}

export type SmsScenario = ReturnType<typeof smsScenarioIn>;
