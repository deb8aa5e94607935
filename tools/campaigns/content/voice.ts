import { NIL_UUID } from "#db/types.ts";
import { callTimesOf } from "#runtime/channels/index.ts";
import type { VoiceMessage } from "#runtime/channels/provider/call.ts";
import type { FaultDetail } from "#runtime/faults.ts";
import type { Campaign } from "#tools/campaigns/campaign/campaign.ts";
import { messageLinks } from "#tools/player-links/links.ts";
import { configuredProvider, ownProviders } from "#tools/providers/choose.ts";
import { playerVariables } from "#tools/templates/rendering/email-template.ts";
import { completePlayer, parseText } from "#tools/templates/rendering/liquid.ts";
import { type Part, tryParts } from "#tools/templates/rendering/trial.ts";
import { agentPrompt, openingOf, readableCall, voicemailOf } from "#tools/voice/agent.ts";
import { faultsOf, inField } from "#tools/voice/check-script.ts";
import { type CompiledScript, compileScript, liquidParts } from "#tools/voice/compile.ts";
import { secondsToSay } from "#tools/voice/engine/transcript.ts";
import { type VoiceLaws, voiceLaws } from "#tools/voice/law/law.ts";
import { readCallbackNumber } from "#tools/voice/numbers.ts";
import { longestSeconds } from "#tools/voice/problems.ts";
import type { VoiceScript } from "#tools/voice/script.ts";
import { spokenValues } from "#tools/voice/spoken.ts";
import {
  type Compile,
  type CompileContext,
  compiledOr,
  propertyVariables,
  type Recipient,
  templateOf,
} from "./content.ts";

/** Seconds that an agent's call takes where nobody has measured one. */
const AGENT_SECONDS = 120;
/** Providers that speak the turns of a script, and follow no instructions. */
const SPEAK_TURNS: ReadonlySet<string> = new Set(["simulator", "conversation-relay"]);
/** Providers that take the calling number from their record. */
const NEED_SENDER: ReadonlySet<string> = new Set(["conversation-relay", "retell"]);

/** The call of a campaign: its script, with the sentences that the law wants around it. */
export const voiceContent: Compile<"voice"> = async (context, campaign) => {
  const { template, deleted } = await templateOf(context, campaign);
  if (deleted.length > 0) return deleted;
  const script = campaign.voice_script ?? template?.voice_script ?? null;
  if (!script)
    return [
      { field: "voice_script", message: "the campaign has no script; give voice_script or template_id" },
    ];
  const laws = await voiceLaws(context);
  const problems = [
    ...(context.property.legal_name ? [] : [noLegalName(context.property.slug)]),
    ...inField(await scriptFaults(context, script)),
    ...(await providerProblems(context, campaign, script, laws)),
  ];
  if (problems.length > 0) return problems;
  const compiled = compileScript(
    script,
    {
      entity: context.property.legal_name!,
      defaultCountry: context.property.default_country,
      aiDisclosure: laws.ai_disclosure === 1,
    },
    parseText,
  );
  const messageTo = messenger(context, compiled, laws);
  // Finds a variable that no player has. The preflight finds values that single players lack.
  const sample = { ...completePlayer(compiled.variables), send_id: NIL_UUID, address: "+12025550100" };
  const tried = await compiledOr(context, () => void messageTo(sample), {});
  if (Array.isArray(tried)) return inField(tried);
  return {
    channel: "voice",
    variables: compiled.variables,
    messageTo,
    sentBy: ({ fromAddress }, message) => ({
      ...message,
      ...(fromAddress !== null && { from: fromAddress }),
    }),
  };
};

/** The faults of the script, and beside them the variables that no player has. */
async function scriptFaults(context: CompileContext, script: VoiceScript): Promise<FaultDetail[]> {
  const { config, property } = context;
  const found = await faultsOf(context, script, parseText);
  const parts = liquidParts(script).map((part): Part => ({ ...part, engine: "text" }));
  const variablesFor = (names: readonly string[]) =>
    playerVariables(
      spokenValues(completePlayer(names)),
      propertyVariables(property),
      messageLinks(config, property.id, names)(NIL_UUID),
    );
  const tried = await compiledOr(context, () => tryParts(parts, variablesFor), {});
  const others = (tried ?? []).filter(({ field }) => !found.some((one) => one.field === field));
  return [...found, ...others];
}

function messenger({ config, property }: CompileContext, compiled: CompiledScript, laws: VoiceLaws) {
  const values = propertyVariables(property);
  const pageLinks = messageLinks(config, property.id, compiled.variables);
  return (recipient: Recipient): VoiceMessage => {
    const { send_id: id, address: to, latest } = recipient;
    const variables = playerVariables(spokenValues(recipient), values, pageLinks(id));
    const { call, instructions } = compiled.render(variables);
    return {
      id,
      to,
      text: readableCall(call, instructions),
      script: call,
      opening: openingOf(call),
      prompt: agentPrompt(call, instructions),
      voicemail: voicemailOf(call),
      seconds:
        instructions === null
          ? longestSeconds(call.turns.map(asScript))
          : AGENT_SECONDS + secondsToSay(openingOf(call)),
      ringSeconds: laws.least_ring_seconds,
      mostSeconds: laws.most_call_seconds,
      latest: typeof latest === "string" ? latest : null,
    };
  };
}

type Turn = VoiceMessage["script"]["turns"][number];

/** A rendered turn in the form of the script, to measure it. */
function asScript({
  id,
  say,
  listen,
  next,
  on_silence,
  on_other,
}: Turn): NonNullable<VoiceScript["turns"]>[number] {
  return {
    id,
    say,
    listen: listen.map((answer) => ({ next: answer.next })),
    ...(next !== null && { next }),
    ...(on_silence !== null && { on_silence }),
    ...(on_other !== null && { on_other }),
  };
}

function noLegalName(slug: string): FaultDetail {
  return {
    field: "legal_name",
    message: `the property has none, and every call names the company behind it; a signed-in manager sets it with update_property, or the operator with npm run tool -- update-property --property ${slug} --legal-name "…"; an API key cannot`,
  };
}

async function providerProblems(
  context: CompileContext,
  { provider_id }: Campaign,
  { instructions, callback_number }: VoiceScript,
  { most_call_seconds: most }: VoiceLaws,
): Promise<FaultDetail[]> {
  const { providers, problems } = await ownProviders(context, "voice", provider_id);
  // Said elsewhere, with the provider's own problems.
  if (problems.length > 0) return [];
  const used = providers.map(({ kind, from_address }) => ({ kind, from: from_address }));
  const all =
    used.length > 0 ? used : [{ kind: configuredProvider(context.config, "voice").name, from: null }];
  const speaker = all.find(({ kind }) => SPEAK_TURNS.has(kind));
  const endless = all.find(({ kind }) => (callTimesOf(kind)?.shortest ?? 0) > most);
  const silent = all.find(({ kind, from }) => NEED_SENDER.has(kind) && from === null);
  const country = context.property.default_country;
  const number = readCallbackNumber(callback_number, country)?.e164;
  const caller = all.find(({ from }) => from !== null && readCallbackNumber(from, country)?.e164 === number);
  return [
    ...(instructions !== undefined && speaker
      ? [
          {
            field: "voice_script.instructions",
            message: `are for an agent of vapi, retell or bland, and ${speaker.kind} speaks turns. Give turns, or another provider`,
          },
        ]
      : []),
    ...(endless
      ? [
          {
            field: "provider_id",
            message: `the provider ${endless.kind} ends no call sooner than after ${callTimesOf(endless.kind)!.shortest} seconds, and a call takes ${most} at most (most_call_seconds of list_voice_laws); raise it, or take another provider`,
          },
        ]
      : []),
    ...(caller
      ? [
          {
            field: "voice_script.callback_number",
            message: `is the number from which the provider ${caller.kind} calls, and a call must tell another one (47 CFR 64.1200(b)(2)); give the number of people who answer`,
          },
        ]
      : []),
    ...(silent
      ? [
          {
            field: "provider_id",
            message: `the provider ${silent.kind} has no from_address, the number that calls; set it with update_message_provider`,
          },
        ]
      : []),
  ];
}
