import type { Channel } from "#tools/compliance/channels.ts";
import type { ConsentLevel } from "./consent-records.table.ts";

/** Where a consent was given, and the wording that the person saw. */
export interface ConsentEvidence {
  consentSource?: string | undefined;
  consentText?: string | undefined;
  consentVersion?: string | undefined;
}

/** Whether the evidence names the source and the wording. Spaces and invisible characters say nothing. */
export function hasEvidence({ consentSource, consentText, consentVersion }: ConsentEvidence): boolean {
  return says(consentSource) && (says(consentText) || says(consentVersion));
}

function says(text: string | undefined): boolean {
  return text !== undefined && /[^\s\p{C}\p{M}]/u.test(text);
}

/** A caller of the specification cannot name a level, and wording that a person was shown and agreed to is in writing. */
export function usualLevel(channel: Channel, evidence: ConsentEvidence): ConsentLevel {
  return channel === "voice" && hasEvidence(evidence) ? "express_written" : "express";
}
