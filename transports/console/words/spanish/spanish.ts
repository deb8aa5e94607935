import type { Words } from "#transports/console/words/english/english.ts";
import { approvals } from "./approvals.ts";
import { campaigns } from "./campaigns.ts";
import { compliance } from "./compliance.ts";
import { general } from "./general.ts";
import { imports } from "./imports.ts";
import { journeys } from "./journeys.ts";
import { labels } from "./labels/labels.ts";
import { limits } from "./limits.ts";
import { nouns } from "./nouns.ts";
import { now } from "./now.ts";
import { players } from "./players.ts";
import { callReasons, reasons } from "./reasons.ts";
import { records } from "./records.ts";
import { report } from "./report.ts";
import { segments } from "./segments.ts";
import { settings } from "./settings.ts";
import { signIn } from "./sign-in.ts";
import { templates } from "./templates.ts";
import { terms } from "./terms.ts";

/** The console in Spanish as people of the Americas write it. The guide of the console has its glossary. */
export const spanish: Words = {
  locale: "es-US",
  // By 24 hours: the period of "p.m." would stand beside that of a sentence.
  hourCycle: "h23",
  labels,
  approvals,
  callReasons,
  campaigns,
  compliance,
  general,
  imports,
  journeys,
  limits,
  nouns,
  now,
  players,
  reasons,
  records,
  report,
  segments,
  settings,
  signIn,
  templates,
  terms,
};
