import type { CallScript } from "#runtime/channels/provider/call.ts";
import { Fault, type FaultDetail, invalid, toFault } from "#runtime/faults.ts";
import { readCallbackNumber } from "./numbers.ts";
import type { ScriptTurn, VoiceScript } from "./script.ts";
import { spokenText } from "./spoken.ts";

/** Parses one text with Liquid. Throws `invalid`, with the field. */
export type ParseText = (field: string, source: string) => ParsedText;

interface ParsedText {
  render(variables: Record<string, unknown>): string;
  variables: readonly string[];
}

/** The property's part of every call. */
export interface Caller {
  entity: string;
  defaultCountry: string;
  aiDisclosure: boolean;
}

/** A script, compiled once for all recipients. */
export interface CompiledScript {
  /** The paths of all variables in it. */
  variables: readonly string[];
  /** Throws `invalid`, with the turn, when it cannot be rendered. */
  render(variables: Record<string, unknown>): { call: CallScript; instructions: string | null };
}

/** Parses the Liquid of a script. Throws `invalid`, naming each part that does not parse. */
export function compileScript(
  script: VoiceScript,
  { entity, defaultCountry, aiDisclosure }: Caller,
  parse: ParseText,
): CompiledScript {
  const parts = liquidParts(script);
  const parsed = new Map<string, ParsedText>();
  const faults: FaultDetail[] = [];
  for (const { field, source } of parts) {
    try {
      parsed.set(field, parse(field, source));
    } catch (error) {
      const fault = toFault(error);
      if (fault.code !== "invalid") throw error;
      faults.push(...(fault.details ?? []));
    }
  }
  if (faults.length > 0) throw invalidWith(faults);
  const number = readCallbackNumber(script.callback_number, defaultCountry);
  return {
    variables: [...new Set([...parsed.values()].flatMap(({ variables }) => variables))].sort(),
    render(variables) {
      const spoken = (field: string): string => {
        const text = spokenText(parsed.get(field)!.render(variables));
        if (text === "") throw invalid(field, "is empty for this recipient");
        return text;
      };
      const call: CallScript = {
        language: script.language ?? "en",
        entity: spokenText(entity),
        number: number?.spoken ?? "",
        ai_disclosure: aiDisclosure,
        turns: (script.turns ?? []).map((turn, index) => callTurn(turn, spoken(sayOf(index)))),
        voicemail: script.on_voicemail !== undefined && number?.isTollFree ? spoken("on_voicemail") : null,
      };
      const instructions =
        script.instructions === undefined ? null : parsed.get("instructions")!.render(variables);
      return { call, instructions };
    },
  };
}

const sayOf = (index: number) => `turns[${index}].say`;

/** The texts with Liquid in a script. */
export function liquidParts({
  turns = [],
  on_voicemail,
  instructions,
}: VoiceScript): { field: string; source: string }[] {
  return [
    ...turns.map(({ say }, index) => ({ field: sayOf(index), source: say })),
    ...(on_voicemail === undefined ? [] : [{ field: "on_voicemail", source: on_voicemail }]),
    ...(instructions === undefined ? [] : [{ field: "instructions", source: instructions }]),
  ];
}

function callTurn(
  { id, listen = [], next, on_silence, on_other }: ScriptTurn,
  say: string,
): CallScript["turns"][number] {
  return {
    id,
    say,
    listen: listen.map(({ keys = "", phrases = [], next: then }) => ({ keys, phrases, next: then })),
    next: next ?? null,
    on_silence: on_silence ?? null,
    on_other: on_other ?? null,
  };
}

/** One fault of several parts. */
export function invalidWith(details: readonly FaultDetail[]): Fault {
  const message = details.map((one) => `${one.field}: ${one.message}`).join("; ");
  return new Fault("invalid", { message, details: [...details] });
}
