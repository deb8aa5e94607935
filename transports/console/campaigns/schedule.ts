import { invalid } from "#runtime/faults.ts";
import type { Desk } from "#transports/console/desk.ts";
import { fingerprintIn } from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";

/** Schedules a campaign at a time of the property's clock, or of each player's own. */
export async function scheduleCampaign(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const scheduled_at = desk.form.get("scheduled_at") ?? "";
  if (scheduled_at === "") throw invalid("scheduled_at", "is needed");
  const campaign = await desk.run("get_campaign", { id });
  const { segment_id, send_in_player_timezone, status } = campaign;
  const isLocal = desk.form.get("send_in_player_timezone") === "yes";
  const schedule = { campaign_id: id, scheduled_at, segment_id, ...fingerprintIn(desk.form) };
  if (isLocal !== send_in_player_timezone) {
    // The clock changes in a draft alone. A time that is refused leaves the campaign scheduled as it is.
    await desk.run("schedule_campaign", { ...schedule, dry_run: true });
    if (status === "scheduled") await desk.run("unschedule_campaign", { campaignId: id });
    await desk.run("update_campaign", { id, send_in_player_timezone: isLocal });
  }
  await desk.run("schedule_campaign", schedule);
  return redirect(`/console/campaigns/${id}`);
}
