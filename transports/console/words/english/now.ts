import { html } from "hono/html";
import type { Part } from "#transports/console/words/part.ts";

export const now = {
  now: "Now",
  nothingSendsAndNothingWaits: "Nothing sends and nothing waits.",
  noJourneyRuns: "No journey runs.",
  startFromUsualOne: "Start from a usual one",
  noFileWasImportedYet: "No file was imported yet.",
  campaignsUnderWay: "Campaigns under way",
  latestImports: "Latest imports",
  provider: "Provider",
  health: "Health",
  aSecond: "A second",
  aDay: "A day",
  webhooksThatFail: "Webhooks that fail",
  address: "Address",
  switchedOffBecause: "Switched off because",
  pauseAllOpens: "Pause all sending…",
  everyCampaignStopsAtOnce:
    "Every campaign stops at once, and scheduled ones wait. Replies to STOP still go out.",
  pauseAllSending: "Pause all sending",
  allSendingIsPaused: "All sending is paused",
  pausedSince: (time: Part, reason: Part, campaigns: Part) =>
    html`since ${time}${reason}. ${campaigns} would go on.`,
  nothingGoesOut: "Nothing goes out.",
  sendingIsOff: "The operator has started the service with SENDING=off. Messages wait.",
  sendingIsHeld: "The database was restored or cloned. Messages wait until the operator releases sending.",
  resumeAllSending: "Resume all sending",
  thereAreNoPlayersYet: "There are no players yet. A manager imports them.",
  firstSteps: "First steps",
  makeACampaign: "Make a campaign",
};
