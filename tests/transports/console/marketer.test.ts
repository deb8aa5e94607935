import { afterAll, beforeAll, expect, test } from "vitest";
import { startService, type TestService } from "../../support/service.ts";
import { signedIn } from "./form-browser.ts";

let service: TestService;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.stop());

test.each(["+1 601 555 0142", "(601) 555-0142", "6015550142"])(
  "a player is found by the phone as it is dialed: %s",
  async (dialed) => {
    const one = await signedIn(service);
    await service
      .call("create_player", { player_id: "Dialed", phone: "+16015550142" })
      .catch((error: { code: string }) => expect(error.code).toBe("conflict"));
    const { text, status } = await one.get(`/console/players?q=${encodeURIComponent(dialed)}`);
    expect(status).toBe(200);
    expect(text).toContain(">Dialed</a>");
  },
);

test("digits are a player id before they are a phone", async () => {
  const one = await signedIn(service);
  await service.call("create_player", { player_id: "6015550177", first_name: "Named" });
  await service.call("create_player", { player_id: "Called", phone: "+16015550177" });
  const { text } = await one.get("/console/players?q=6015550177");
  expect(text).toContain(">6015550177</a>");
  expect(text).not.toContain(">Called</a>");
});

test("a scheduled campaign takes the players' own clocks when it is scheduled again", async () => {
  const one = await signedIn(service);
  const campaign = { name: "Hour", channel: "email", audience: "all", subject: "A", body_html: "<p>A</p>" };
  const { id } = await service.call("create_campaign", campaign);
  const path = `/console/campaigns/${id}`;
  const at = (day: number) => `2036-03-0${day}T18:00`;
  expect((await one.post(`${path}/schedule`, { scheduled_at: at(1) })).status).toBe(303);
  const again = { scheduled_at: at(2), send_in_player_timezone: "yes" };
  expect((await one.post(`${path}/schedule`, again)).status).toBe(303);
  const now = () => service.call("get_campaign", { id });
  expect(await now()).toMatchObject({ status: "scheduled", send_in_player_timezone: true });
  const past = await one.post(`${path}/schedule`, { scheduled_at: "2020-01-01T10:00" });
  expect(past.status).toBe(400);
  expect(await now()).toMatchObject({ status: "scheduled", send_in_player_timezone: true });
});

test("a dry run that is imported twice is imported once, and its page says so", async () => {
  const one = await signedIn(service);
  const given = { csv: "player_id\nO1\nO2\n", dry_run: true };
  const { id } = await service.call("create_import_job", given);
  await expect.poll(async () => (await service.call("get_import_job", { id })).status).toBe("completed");
  const once = crypto.randomUUID();
  const first = await one.post(`/console/imports/${id}/import`, { once });
  const second = await one.post(`/console/imports/${id}/import`, { once });
  expect([first.status, second.status, second.location]).toEqual([303, 303, `/console/imports/${id}`]);
  expect(first.location).not.toBe(second.location);
  const jobs = await service.call("list_import_jobs", {});
  expect(jobs.filter((job: { params: { dry_run?: boolean } }) => !job.params.dry_run)).toHaveLength(1);
  expect((await one.get(second.location!)).text).toContain("The file of this dry run is imported");
});
