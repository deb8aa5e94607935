import type { Domain } from "#runtime/operation/catalog.ts";
import voiceLaws from "#tools/voice/law/voice-laws.table.ts";
import voiceCalls from "./voice-calls.table.ts";

/** The calls in the table of contents. */
export const voice: Domain = {
  name: "voice",
  title: "Calls",
  tables: [voiceCalls, voiceLaws],
  tools: [],
};
