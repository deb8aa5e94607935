import { html } from "hono/html";
import type { Catalog } from "#runtime/operation/catalog.ts";
import type { Table } from "#runtime/operation/table.ts";
import type { Desk } from "#transports/console/desk.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";

/** The pages on which people make what a table lists. Only writers get the forms. */
const PLACES: Readonly<Record<string, string>> = {
  campaigns: "/console/campaigns/new",
  campaign_sends: "/console/campaigns",
  consent_records: "/console/imports/new",
  frequency_rules: "/console/settings/caps",
  import_jobs: "/console/imports/new",
  journey_enrollments: "/console/journeys",
  journey_versions: "/console/journeys",
  journeys: "/console/journeys/new",
  players: "/console/imports/new",
  proposals: "/console/settings/limits",
  quiet_hours_rules: "/console/settings/hours",
  segment_members: "/console/segments",
  segments: "/console/segments/new",
  templates: "/console/templates/new",
};

/** The guide of each domain of the catalog. */
const GUIDES: Readonly<Record<string, string>> = {
  approvals: "agents",
  audit: "privacy-and-ledgers",
  campaigns: "campaigns",
  compliance: "consent-and-compliance",
  consent: "consent-and-compliance",
  games: "games",
  imports: "players-and-imports",
  inbox: "inbox",
  journeys: "journeys",
  mailbox: "providers",
  players: "players-and-imports",
  privacy: "privacy-and-ledgers",
  providers: "providers",
  push: "web-push",
  segments: "segments",
  sms: "texts",
  validation: "players-and-imports",
  voice: "voice",
  webhooks: "webhooks",
};

/** For a table without rows: where people make the first one, which operation adds it, or that the service does. */
export function nextStep(desk: Desk, catalog: Catalog, { name, noun }: Table): Html {
  const words = say().records;
  const place = PLACES[name];
  const isForm = place !== undefined && /\/new$/.test(place);
  const link =
    place && (desk.canWrite || !isForm)
      ? html` <a href="${place}">${isForm ? words.makeTheFirstOne : words.theyComeFromThere}</a>`
      : "";
  const create = `create_${noun}`;
  const by = catalog.operations.has(create) ? words.programsAddThemWith(create) : words.serviceWritesThem;
  const guide = GUIDES[catalog.domainOf.get(`list_${name}`) ?? ""] ?? "api-conventions";
  return html`<p>${words.thereNothingHereYet}${link}</p><p>${by} <a href="/docs/${guide}">${words.theGuideSaysHow}</a></p>`;
}
