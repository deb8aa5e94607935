import type { FaultDetail } from "#runtime/faults.ts";
import { toFault } from "#runtime/faults.ts";
import type { Tenant } from "#runtime/operation/context.ts";
import { keywordsOf } from "#tools/sms/keywords.ts";
import { compileScript, invalidWith, type ParseText } from "./compile.ts";
import { stopReader } from "./engine/heard.ts";
import { voiceLaws } from "./law/law.ts";
import { scriptProblems } from "./problems.ts";
import type { VoiceScript } from "./script.ts";

/** All faults of a script, under the names of its own fields. */
export async function faultsOf(
  context: Tenant,
  script: VoiceScript,
  parse: ParseText,
): Promise<FaultDetail[]> {
  const laws = await voiceLaws(context);
  const { default_country: defaultCountry } = context.property;
  const isStop = stopReader(await keywordsOf(context));
  const problems = scriptProblems(script, { defaultCountry, mostSeconds: laws.most_call_seconds, isStop });
  return [...problems, ...liquidFaults(script, defaultCountry, parse)];
}

function liquidFaults(script: VoiceScript, defaultCountry: string, parse: ParseText): FaultDetail[] {
  try {
    compileScript(script, { entity: "", defaultCountry, aiDisclosure: true }, parse);
    return [];
  } catch (error) {
    const fault = toFault(error);
    if (fault.code !== "invalid") throw error;
    return fault.details ?? [];
  }
}

/** Throws `invalid`, naming every fault of a script that is written. */
export async function checkScript(
  context: Tenant,
  script: VoiceScript | null | undefined,
  parse: ParseText,
): Promise<void> {
  if (!script) return;
  const faults = await faultsOf(context, script, parse);
  if (faults.length > 0) throw invalidWith(inField(faults));
}

/** The faults as fields of a campaign's or a template's script. */
export function inField(faults: readonly FaultDetail[]): FaultDetail[] {
  return faults.map(({ field, message }) => ({ field: `voice_script.${field}`, message }));
}
