import { html } from "hono/html";
import type { Part, Shown } from "#transports/console/words/part.ts";

export const players = {
  thereAreNoPlayersYet: "There are no players yet. A file of players brings them in.",
  nobodyHas: (wanted: Part) => html`No player has ${wanted}. Give the whole player id, email or phone.`,
  playerIdEmailOrPhone: "Player id, email or phone",
  find: "Find",
  recordTheRefusal: "Record the refusal",
  whatTheySaid: "What they said",
  suchAsAskedAtDesk: "Such as: asked at the desk. It is kept with the refusal.",
  eraseForGood: "Erase for good",
  writeToConfirm: (player: Part) => html`Write ${player} to confirm`,
  ifThePersonAsks: "If the person asks",
  toHearNoMore: "To hear no more",
  fromNowOnNoMessage: "From now on no message goes to them, and those that wait are cancelled.",
  forCopyTheirData: "For a copy of their data",
  oneFileWithAllThat: "One file with all that is kept of them. The export itself is recorded.",
  erasureOpens: "To be erased…",
  allDataPersonGoesConsents:
    "All data of the person goes. Consents and sends stay without the person, as the law demands. It cannot be undone.",
  exportTheData: "Export the data",
  erasedHeading: "The player is erased",
  allDataPersonGone: "All data of the person is gone.",
  thePrivacyRequests: "The privacy requests",
  text: "Text",
  nothingRecordedThisPlayerWas:
    "Nothing is recorded: this player was never asked. Consents come by imports, the preferences page, or consent_record.",
  allThemToPrintFor: "All of them, to print for a regulator",
  messageOf: (channel: Part) => html`Message by ${channel}`,
  itsCampaign: "Its campaign",
  aTest: " A test.",
  consentForThen: (channel: Part, action: Part, source: Part) =>
    html`Consent for ${channel} ${action}${source}`,
  atSource: (source: Shown) => ` at ${source}`,
  aJourney: "a journey",
  nowAt: (node: Shown) => `, now at ${node}`,
  played: "Played",
  aGame: "a game",
  allOfIt: (tables: Part) => html`All of it: ${tables}`,
  nothingKnownThisPlayerBeyond:
    "Nothing is known of this player beyond the record. Events come from the casino's own systems.",
  timeline: "Timeline",
  leftOutFor: (reasons: Shown) => `left out: ${reasons}.`,
  mayWeContactThisPlayer: "May we contact this player?",
  verdictOf: (gate: Part) =>
    html`The verdict of the ${gate} now. Every message is checked by the same rules.`,
  verdictsByChannel: "Verdicts by channel",
  verdict: "Verdict",
  messageWaits: (until: Part, reasons: Part) => html`A message waits${until}: ${reasons}.`,
  entered: "Entered",
};
