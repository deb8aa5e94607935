import type { Desk } from "./desk.ts";
import { timeOf } from "./values.ts";
import type { Reader } from "./views/parts.js";
import { speech } from "./words/say.ts";

/** The pages of the console to which views lead. */
const PATHS: Readonly<Record<Parameters<Reader["pathOf"]>[0], (...ids: string[]) => string>> = {
  calls: (id) => `/console/records/voice_calls?column=campaign_id&operator=eq&value=${id}`,
  campaign: (id) => `/console/campaigns/${id}`,
  guide: (name) => `/docs/${name}`,
  node: (id, node) => `/console/journeys/${id}/nodes/${node}`,
  now: () => "/console",
  player: (id) => `/console/players/${id}`,
  sample: (id, player) => `/console/campaigns/${id}?player=${player}`,
  skipped: (id) =>
    `/console/records/campaign_sends?column=campaign_id&operator=eq&value=${id}&status=skipped`,
};

/** The person at the desk, as a view sees its reader. */
export function readerOf({ property }: Desk): Reader {
  return {
    ...speech(),
    time: (iso) => timeOf(iso, property.timezone),
    pathOf: (record, ...ids) => PATHS[record](...ids),
  };
}
