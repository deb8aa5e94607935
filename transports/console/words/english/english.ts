import { approvals } from "./approvals.ts";
import { campaigns } from "./campaigns.ts";
import { compliance } from "./compliance.ts";
import { general } from "./general.ts";
import { imports } from "./imports.ts";
import { journeys } from "./journeys.ts";
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

/** The labels of codes, of fields and of tables, by their names. */
type Labels = Readonly<Record<string, string>>;

/** How hours are counted: 8:05 PM, or 20:05. */
type HourCycle = "h12" | "h23";

/** All words of the console. Most codes and names of fields are English words already, and need no label. */
export const english = {
  locale: "en-US",
  hourCycle: "h12" as HourCycle,
  labels: {
    adt: "ADT",
    dnc: "do-not-call list",
    loyaltyvip: "inbox",
    phone_e164: "phone, E.164",
    sms: "SMS",
  } as Labels,
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

/** The form of a language's record: every word of the English one, and no other. */
export type Words = typeof english;
