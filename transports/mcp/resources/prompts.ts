import {
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { visible } from "#runtime/visible-text.ts";
import { CHANNELS } from "#tools/compliance/channels.ts";
import { MESSAGE_CHANNELS } from "#tools/templates/channels.ts";
import type { Surface } from "#transports/mcp/listing/visible-tools.ts";
import { completeIds, type ResourceRequest } from "./resources.ts";

const MOST_COMPLETIONS = 100;
const MOST_ARGUMENT = 2_000;

interface Argument {
  description: string;
  required: boolean;
  /** The possible values: a few constants, or the ids of a resource's records. */
  values?: readonly string[];
  ids?: string;
}

interface Written {
  title: string;
  description: string;
  /** The tools in its text. */
  needs: readonly string[];
  arguments: Readonly<Record<string, Argument>>;
  text(given: Readonly<Record<string, string>>): string;
}

const player: Argument = { description: "The player's id, from list_players", required: true, ids: "player" };
const campaign: Argument = {
  description: "The campaign's id, from list_campaigns",
  required: true,
  ids: "campaign",
};
const channel = (required: boolean, values: readonly string[] = CHANNELS): Argument => ({
  description: `One of ${values.join(", ")}`,
  required,
  values,
});

const PROMPTS: Readonly<Record<string, Written>> = {
  plan_campaign: {
    title: "Plan a campaign",
    description: "From a goal in words to a checked draft; nothing is sent.",
    needs: ["segment_preview", "create_segment", "create_campaign", "preflight_campaign"],
    arguments: {
      goal: { description: "The campaign's goal and audience", required: true },
      channel: channel(false, MESSAGE_CHANNELS),
    },
    text: ({ goal, channel: by }) => `Plan a campaign${by ? ` by ${by}` : ""} for this goal: ${quoted(goal)}

1. Read policy://compliance and schema://segments.
2. Turn the audience into conditions and look at it with segment_preview. Show me the count and ask before going on if it is none, or more than half of all players.
3. Save it with create_segment, and write the draft with create_campaign: an email has a subject, a text and an unsubscribe link, a call a script by schema://voice.
4. Run preflight_campaign. Correct what it names as errors. Tell me the audience, who is blocked and why, and one rendered message.
5. Stop there. Sending is my decision: say with which tool and arguments it would be done, and pass no confirm_token on before I have said yes.`,
  },
  design_journey: {
    title: "Design a journey",
    description: "From a goal in words to a checked draft; nobody enters it.",
    needs: ["create_journey", "validate_journey", "simulate_journey", "draw_journey"],
    arguments: { goal: { description: "The players, and where they are to get", required: true } },
    text: ({ goal }) => `Design a journey for this goal: ${quoted(goal)}

1. Read schema://journeys, schema://segments and policy://compliance. create_journey_from_recipe has six usual ones to begin with.
2. Find the players with segment_preview, and save them with create_segment. Show me the count.
3. Write the draft with create_journey: a trigger, messages with pauses between them, a way out for players who have done what you want, an end for the others. Annoy nobody: three messages at the most, and no second one to a player who came.
4. validate_journey names every problem with its remedy. Correct all errors.
5. simulate_journey with a segment of the players who would enter: look at blocked messages, waits and collisions.
6. Show me draw_journey, and say in three sentences who enters, what they get, and how they leave.
7. Stop there. publish_journey is my decision: pass no confirm_token on before I have said yes.`,
  },
  explain_no_contact: {
    title: "Explain why a player was not contacted",
    description: "Finds the rule and the record that kept a message from a player.",
    needs: ["explain_eligibility", "get_suppression", "list_campaign_sends"],
    arguments: { player_id: player, channel: channel(true) },
    text: ({
      player_id,
      channel: by,
    }) => `Explain why the player ${quoted(player_id)} was not contacted by ${quoted(by)}.

1. explain_eligibility with playerId and channel, and with campaignId if it is about one campaign: it answers every rule, and the records that decided.
2. Where a record needs to be seen, read it with the get_… of its table, as get_suppression.
3. If nothing bars the player, look at list_campaign_sends with the filter player_id: skip_reasons, status and error_message of the last ones. defer means that the message waits for its hour; with dropped it is dropped, and does not wait.
4. Answer in three sentences: which rule, which record with its date, and what would have to happen before a message may go. Do not propose to lift a bar that the person requested.`,
  },
  audit_consent: {
    title: "Audit a player's consent",
    description: "A player's consents and refusals, with the evidence for each.",
    needs: ["list_consent_records", "compliance_check"],
    arguments: { player_id: player },
    text: ({ player_id }) => `Audit the consent of the player ${quoted(player_id)}.

1. list_consent_records with the filter player_id, oldest first.
2. For each channel say what holds now, since when, from which source and with which text and version. Name what is missing as evidence.
3. verify_ledger says whether the ledger is untouched.
4. compliance_check for each channel: does what it answers agree with the records? Report differences as they are; change nothing.`,
  },
  build_segment: {
    title: "Build a segment",
    description: "From a description in words to a saved, counted audience.",
    needs: ["segment_preview", "create_segment"],
    arguments: { description: { description: "The players who belong to it, in words", required: true } },
    text: ({ description }) => `Build a segment of these players: ${quoted(description)}

1. Read schema://segments. Use only fields and operators that it names; ask me where the words could mean two things.
2. Try the conditions with segment_preview and look at the sample: do these players fit the description? A missing value fails every positive operator, and passes neq, not_in and not_contains.
3. Save it with create_segment under a name that says what it is, and tell me its id, its count and its conditions in words.`,
  },
  report_campaign: {
    title: "Report on a campaign",
    description: "The results of a campaign, in rates with their denominators.",
    needs: ["get_campaign", "campaign_stats"],
    arguments: { campaign_id: campaign },
    text: ({ campaign_id }) => `Report on the campaign ${quoted(campaign_id)}.

1. get_campaign and campaign_stats.
2. Audience, skipped by reason, sent, delivered, bounced, complaints, unsubscribes; opens and clicks by people apart from those of machines. Give each rate with its denominator.
3. Name what stands out: a reason that skips many, bounces or complaints above one in a thousand, messages that are unknown or failed.
4. End with one thing to do better next time. Give only figures that the tools answer.`,
  },
};

/** A caller's values stand in quotes, so that the model sees them as the caller's. */
function quoted(text: string | undefined): string {
  return JSON.stringify(visible(text ?? "").slice(0, MOST_ARGUMENT));
}

const within = ({ reach }: Surface, { needs }: Written) => needs.every((name) => reach.has(name));

/** The prompts whose tools this connection reaches. */
export function listPrompts(surface: Surface): Prompt[] {
  return Object.entries(PROMPTS)
    .filter(([, prompt]) => within(surface, prompt))
    .map(([name, { title, description, arguments: known }]) => ({
      name,
      title,
      description,
      arguments: Object.entries(known).map(([argument, { description: about, required }]) => ({
        name: argument,
        description: about,
        required,
      })),
    }));
}

/** A prompt with its arguments filled in. Throws an error of the protocol that names the flaw. */
export function getPrompt(surface: Surface, name: string, given: Record<string, string>): GetPromptResult {
  const prompt = promptOf(surface, name);
  const unknown = Object.keys(given).find((argument) => !Object.hasOwn(prompt.arguments, argument));
  if (unknown !== undefined) throw wrong(`Unknown argument: ${unknown.slice(0, 60)}.`);
  for (const [argument, { required, values }] of Object.entries(prompt.arguments)) {
    const value = given[argument];
    if (required && !value) throw wrong(`The argument ${argument} is missing.`);
    if (value && values && !values.includes(value))
      throw wrong(`${argument} is one of ${values.join(", ")}.`);
  }
  return {
    description: prompt.description,
    messages: [{ role: "user", content: { type: "text", text: prompt.text(given) } }],
  };
}

function promptOf(surface: Surface, name: string): Written {
  const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined;
  if (prompt && within(surface, prompt)) return prompt;
  throw wrong(`Unknown prompt: ${name.slice(0, 60)}.`);
}

function wrong(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** The completions of a prompt's argument, or of a resource's id. */
export async function complete(
  reading: ResourceRequest,
  { ref, argument }: { ref: unknown; argument: { name: string; value: string } },
): Promise<CompleteResult> {
  const prompt = PromptRef.safeParse(ref);
  const begun = argument.value;
  let values: readonly string[];
  if (prompt.success) {
    const known = promptOf(reading.surface, prompt.data.name).arguments;
    const about = Object.hasOwn(known, argument.name) ? known[argument.name] : undefined;
    values = about?.ids ? await completeIds(reading, about.ids, begun) : (about?.values ?? []);
  } else {
    const template = TemplateRef.safeParse(ref);
    const scheme = template.success ? /^([a-z]+):\/\/\{id\}$/.exec(template.data.uri)?.[1] : undefined;
    values = scheme && argument.name === "id" ? await completeIds(reading, scheme, begun) : [];
  }
  const fitting = values.filter((value) => value.startsWith(begun.toLowerCase()));
  const shown = fitting.slice(0, MOST_COMPLETIONS);
  return { completion: { values: shown, hasMore: fitting.length > shown.length } };
}

const PromptRef = z.looseObject({ type: z.literal("ref/prompt"), name: z.string() });
const TemplateRef = z.looseObject({ type: z.literal("ref/resource"), uri: z.string() });
