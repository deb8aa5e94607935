import { invalid } from "#runtime/faults.ts";
import type { Desk } from "#transports/console/desk.ts";
import { redirect } from "#transports/console/signed-out.ts";

/** Schedules a campaign at a time of the property's clock, or of each player's own. */
export async function scheduleCampaign(desk: Desk): Promise<Response> {
  const id = desk.c.req.param("id");
  const scheduled_at = desk.form.get("scheduled_at") ?? "";
  if (scheduled_at === "") throw invalid("scheduled_at", "is needed");
  const { segment_id, send_in_player_timezone, status } = await desk.run("get_campaign", { id });
  const isLocal = desk.form.get("send_in_player_timezone") === "yes";
  if (status === "draft" && isLocal !== send_in_player_timezone) {
    await desk.run("update_campaign", { id, send_in_player_timezone: isLocal });
  }
  await desk.run("schedule_campaign", { campaign_id: id, scheduled_at, segment_id });
  return redirect(`/console/campaigns/${id}`);
}
