import type { Service } from "#runtime/funnel/service.ts";
import { EXAMPLE_SCRIPT } from "#tools/voice/describe.ts";
import type { RunOperation } from "./inbox.ts";

const PLAYERS = 40;

/** Written consents of some players whom nothing bars, and a draft of a call that runs in the simulator. */
export async function prepareCalls({ db }: Service, propertyId: string, run: RunOperation): Promise<void> {
  const players = await db.asProperty(
    propertyId,
    (sql) => sql<{ id: string }[]>`
      select id from players
      where property_id = ${propertyId} and deleted_at is null and status = 'active' and phone is not null
        and consents ->> 'sms' = 'true' and tier in ('Platinum', 'Diamond')
      order by player_id limit ${PLAYERS}`,
  );
  for (const { id } of players) {
    await run("consent_record", {
      propertyId,
      playerId: id,
      channel: "voice",
      consentGiven: true,
      consentLevel: "express_written",
      consentSource: "players club",
      consentVersion: "2026-01",
      consentText:
        "I agree to automated calls with offers from Demo Casino Resort LLC. I need not agree to buy anything.",
    });
  }
  await run("create_campaign", {
    name: "Call: free play this weekend",
    channel: "voice",
    conditions: [{ field: "tier", operator: "in", value: ["Platinum", "Diamond"] }],
    voice_script: EXAMPLE_SCRIPT,
  });
}
