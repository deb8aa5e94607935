import { afterAll, beforeAll, expect, test } from "vitest";
import { newScenario } from "../../support/scenario.ts";
import { startService, type TestService } from "../../support/service.ts";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

test("mail to rehearsal addresses bounces or is complained of, by the mailbox of the service and of a property", async () => {
  for (const own of [false, true]) {
    const scenario = await newScenario(service);
    if (own) {
      const mailbox = { channel: "email", kind: "mailbox", name: "Own", allows_gaming: true };
      await scenario.call("create_message_provider", mailbox);
    }
    const names = ["bounce", "bounce+2", "soft-bounce", "complaint+x", "bounces", "ann"];
    for (const name of names) {
      await scenario.player({ player_id: name, email: `${name}@rehearsal.example` });
    }
    await scenario.player({ player_id: "other", email: "bounce@casino.example" });
    const id = await scenario.campaign();
    await scenario.send(id);
    await service.idle();
    const sends = await scenario.sends(id);
    expect(Object.fromEntries(sends.map(({ player, status }) => [player, status]))).toEqual({
      ...{ bounce: "bounced", "bounce+2": "bounced", "soft-bounce": "bounced" },
      ...{ "complaint+x": "delivered", bounces: "sent", ann: "sent", other: "sent" },
    });
    expect(await scenario.stats(id)).toMatchObject({ bounced_hard: 2, bounced_soft: 1, complained: 1 });
    const suppressed: { reason: string }[] = await scenario.call("list_suppressions", { limit: 50 });
    expect(suppressed.map(({ reason }) => reason).sort()).toEqual([
      "complaint",
      "hard_bounce",
      "hard_bounce",
    ]);
  }
});
