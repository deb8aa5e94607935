import type { Operation } from "#runtime/operation/operation.ts";
import type { Arguments } from "./arguments.ts";

// biome-ignore lint/suspicious/noExplicitAny: the result of any operation
type Result = any;
/** The words of the next command. Null: there is nothing to suggest. */
type Suggest = (result: Result, input: Record<string, unknown>) => string | null;

const SUGGESTIONS: Readonly<Record<string, Suggest>> = {
  create_property: ({ slug }) => `create-api-key --property ${slug} --name first`,
  create_player: ({ id }) => `explain-eligibility --player-id ${id} --channel email`,
  create_segment: ({ id }) => `segment-preview --segment-id ${id}`,
  create_template: ({ id }) => `create-campaign --name … --template-id ${id} --audience all`,
  create_campaign: ({ id }) => `preflight-campaign --campaign-id ${id}`,
  duplicate_campaign: ({ campaign }) => campaign && `preflight-campaign --campaign-id ${campaign.id}`,
  preflight_campaign: ({ ok, estimated_cost: cost }, { campaignId }) =>
    ok
      ? `${cost?.channel === "sms" ? "send-sms-campaign" : "send-campaign"} --campaign-id ${campaignId}`
      : null,
  send_campaign: (_, { campaignId }) => `campaign-stats --campaign-id ${campaignId}`,
  send_sms_campaign: (_, { campaignId }) => `campaign-stats --campaign-id ${campaignId}`,
  resume_campaign: (_, { campaignId }) => `campaign-stats --campaign-id ${campaignId}`,
  schedule_campaign: (_, { campaign_id }) => `get-campaign --id ${campaign_id}`,
  pause_campaign: (_, { campaignId }) => `resume-campaign --campaign-id ${campaignId}`,
  campaign_stats: (_, { campaignId }) =>
    `list-campaign-sends --filter campaign_id.eq=${campaignId} --filter status.eq=skipped`,
  create_import_job: ({ id, status, failed }) =>
    status === "completed" && failed === 0
      ? "list-players"
      : status === "queued" || status === "processing"
        ? `get-import-job --id ${id}`
        : `list-import-errors --id ${id}`,
  create_validation_job: ({ id, status }) =>
    status === "completed" ? `list-validation-results --id ${id}` : `get-validation-job --id ${id}`,
  create_webhook_endpoint: ({ id }) => `test-webhook --endpoint-id ${id}`,
};

/** The line that says what comes next. Null where nothing is usual, or nothing was done. */
export function nextLine(
  operation: Operation,
  result: Result,
  { input, property, url }: Pick<Arguments, "input" | "property" | "url">,
  program: string,
): string | null {
  if (result?.dry_run === true) return null;
  const words = SUGGESTIONS[operation.name]?.(result, input);
  if (!words) return null;
  const where = property && !words.includes("--property") ? ` --property ${property}` : "";
  return `Next: ${program} ${words}${where}${url ? ` --url ${url}` : ""}`;
}
