import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import { Fault } from "#runtime/faults.ts";
import { tenantOf, withTenant } from "#runtime/funnel/access.ts";
import { invoke } from "#runtime/funnel/invoke.ts";
import { maskedValue } from "#runtime/masking/values.ts";
import type { Call } from "#runtime/operation/context.ts";
import { EVENTS } from "#runtime/operation/events.ts";
import type { Operation } from "#runtime/operation/operation.ts";
import { visible } from "#runtime/visible-text.ts";
import { BLOCK_REASONS, CALL_REASONS } from "#tools/compliance/gate.ts";
import { capWords, hoursWords } from "#tools/compliance-controls/words.ts";
import { describeJourneys } from "#tools/journeys/definition/describe.ts";
import { describeFields } from "#tools/segments/rules/compile.ts";
import { describeScripts } from "#tools/voice/describe.ts";
import { type Guide, guides, relinked } from "#transports/docs/guides.ts";
import { MOST_STRUCTURED, shorten, sizeOf } from "#transports/mcp/answers/fit-to-tokens.ts";
import { readVisible } from "#transports/mcp/answers/results.ts";
import type { Machine, Surface } from "#transports/mcp/listing/visible-tools.ts";
import { guide } from "./guide.ts";

/** The reader and their connection. */
export interface ResourceRequest {
  machine: Machine;
  surface: Surface;
  call: Call;
}

interface Page extends Resource {
  mimeType: "text/markdown" | "application/json";
  /** Without one of these tools the resource is useless for this connection. */
  needs: readonly string[];
  text(reading: ResourceRequest): string | Promise<string>;
}

const PAGES: readonly Page[] = [
  {
    uri: "docs://guide",
    name: "guide",
    title: "How to work here",
    description: "The order of work for campaigns, consent and imports, and the rules for every tool.",
    mimeType: "text/markdown",
    needs: [],
    text: ({ surface }) => guide(surface),
  },
  {
    uri: "schema://segments",
    name: "segments",
    title: "Fields and operators of segments",
    description:
      "The fields and operators for conditions of segments and campaigns, and the effect of a missing value.",
    mimeType: "application/json",
    needs: ["segment_preview"],
    text: () => JSON.stringify(describeFields()),
  },
  {
    uri: "schema://journeys",
    name: "journeys",
    title: "Nodes of journeys",
    description: "The types of a journey's nodes, the config of each, and a worked example.",
    mimeType: "application/json",
    needs: ["create_journey"],
    text: () => JSON.stringify(describeJourneys()),
  },
  {
    uri: "schema://voice",
    name: "voice",
    title: "Scripts of calls",
    description: "The form of voice_script, the sentences that every call says by law, and a worked example.",
    mimeType: "application/json",
    needs: ["create_campaign"],
    text: () => JSON.stringify(describeScripts()),
  },
  {
    uri: "schema://events",
    name: "events",
    title: "Events",
    description: "The events for webhook endpoints, by category.",
    mimeType: "application/json",
    needs: ["list_webhook_endpoints"],
    text: () => JSON.stringify(EVENTS),
  },
  {
    uri: "policy://compliance",
    name: "compliance",
    title: "This property's rules",
    description: "This property's present rules for consent, age, quiet hours and frequency, in words.",
    mimeType: "text/markdown",
    needs: ["get_property", "list_quiet_hours_rules", "list_frequency_rules"],
    text: policy,
  },
];

interface Kind extends ResourceTemplateType {
  scheme: string;
  mimeType: "application/json";
  /** The tools that read a record by its id, tried in this order. */
  tools: readonly string[];
  /** The tool that lists such records, for completion. */
  list: string;
}

const KINDS: readonly Kind[] = [
  kind(
    "campaign",
    "A campaign",
    "The campaign as it is, with its figures.",
    ["get_campaign"],
    "list_campaigns",
  ),
  kind(
    "job",
    "A job",
    "An import or a validation: its status, progress and result.",
    ["get_import_job", "get_validation_job"],
    "list_import_jobs",
  ),
  kind(
    "proposal",
    "A proposal",
    "A call that waits for a person's approval, and what became of it.",
    ["get_proposal"],
    "list_proposals",
  ),
  kind("player", "A player", "The player's record. It is personal data.", ["get_player"], "list_players"),
];

function kind(scheme: string, title: string, description: string, tools: string[], list: string): Kind {
  const uriTemplate = `${scheme}://{id}`;
  return { scheme, name: scheme, title, description, uriTemplate, tools, list, mimeType: "application/json" };
}

/** The pages for this connection. */
export function listResources(surface: Surface): Resource[] {
  const pages = PAGES.filter(({ needs }) => reaches(surface, needs));
  return [...pages.map(({ needs: _, text: __, ...page }) => page), ...guides().map(guideResource)];
}

const GUIDES = "docs://guides/";

function guideResource({ name, title, summary }: Guide): Resource {
  return { uri: GUIDES + name, name, title, description: summary, mimeType: "text/markdown" };
}

/** The kinds of records that this connection may read by id. */
export function listTemplates(surface: Surface): ResourceTemplateType[] {
  return KINDS.filter(({ tools }) => tools.some((name) => surface.reach.has(name))).map(
    ({ scheme: _, tools: __, list: ___, ...shown }) => shown,
  );
}

/** A page or a record, read by the tools' operations. Throws ResourceNotFoundError. */
export async function readResource(reading: ResourceRequest, uri: string): Promise<ReadResourceResult> {
  const page = PAGES.find((one) => one.uri === uri);
  if (page && reaches(reading.surface, page.needs))
    return contents(uri, page.mimeType, await page.text(reading));
  const written = guides().find(({ name }) => uri === GUIDES + name);
  if (written) {
    // Our own text; a test measures that it fits.
    const text = relinked(written.markdown, (name) => GUIDES + name);
    return { contents: [{ uri, mimeType: "text/markdown", text }] };
  }
  const [, scheme, id] = /^([a-z]+):\/\/([\w-]{1,64})$/.exec(uri) ?? [];
  const found = KINDS.find((one) => one.scheme === scheme);
  for (const tool of found?.tools ?? []) {
    if (!reading.surface.reach.has(tool)) continue;
    const record = await answerOf(reading, tool, { id }).catch(absent);
    if (record === null) continue;
    const shown = reading.surface.masked ? maskedValue(record) : record;
    const whole = "Over REST, the record can be read whole.";
    return contents(uri, "application/json", JSON.stringify(shorten(shown as Rule, whole)));
  }
  throw new ResourceNotFoundError(uri.slice(0, 200));
}

/** The operation with which this connection reads such a resource; undefined without permission. */
export function readerOf({ reach }: Surface, uri: string): Operation | undefined {
  const kind = KINDS.find(({ scheme }) => uri.startsWith(`${scheme}://`));
  return kind?.tools.map((name) => reach.get(name)?.operation).find((operation) => operation !== undefined);
}

function contents(uri: string, mimeType: string, text: string): ReadResourceResult {
  if (sizeOf({ text }) > MOST_STRUCTURED) {
    throw new Fault("too_large", {
      message: "The page is longer than the token limit. Call the tools that its parts come from.",
    });
  }
  return { contents: [{ uri, mimeType, text }] };
}

/** Null for a missing record; throws every other failure. */
export function absent(error: unknown): null {
  if (error instanceof Fault && (error.code === "not_found" || error.code === "invalid")) return null;
  throw error;
}

function reaches({ reach }: Surface, tools: readonly string[]): boolean {
  return tools.every((name) => reach.has(name));
}

/** The result of an operation for this caller, in their property. */
export async function answerOf(
  { machine, surface, call }: ResourceRequest,
  name: string,
  input: Record<string, unknown>,
): Promise<unknown> {
  const { operation } = surface.reach.get(name)!;
  const { body } = await invoke(
    machine.service,
    operation,
    call,
    withTenant(operation, input, tenantOf(call)),
  );
  return readVisible(body);
}

/** Ids of the newest records with this beginning: completions of `scheme://{id}`. */
export async function completeIds(
  reading: ResourceRequest,
  scheme: string,
  begun: string,
): Promise<string[]> {
  const found = KINDS.find((one) => one.scheme === scheme);
  if (!found || !reading.surface.reach.has(found.list)) return [];
  const rows = (await answerOf(reading, found.list, { select: "id", limit: 1000 })) as { id: string }[];
  return rows.map(({ id }) => id).filter((id) => id.startsWith(begun.toLowerCase()));
}

interface Rules {
  name: string;
  timezone: string;
  min_age: number;
  email_consent_mode: string;
  revocation_scope: string;
}

type Rule = Record<string, unknown>;

async function policy(reading: ResourceRequest): Promise<string> {
  const [property, hours, caps] = (await Promise.all([
    answerOf(reading, "get_property", {}),
    answerOf(reading, "list_quiet_hours_rules", { limit: 1000 }),
    answerOf(reading, "list_frequency_rules", { limit: 1000 }),
  ])) as [Rules, Parameters<typeof hoursWords>[0][], Parameters<typeof capWords>[0][]];
  const reasons = Object.entries(BLOCK_REASONS).map(([name, meaning]) => `- \`${name}\`: ${meaning}`);
  return visible(
    [
      `# The rules of ${property.name}`,
      "Every message passes one gate, at the moment it is sent; no tool bypasses it.",
      "## What bars a message",
      ...reasons,
      ...Object.entries(CALL_REASONS).map(([name, meaning]) => `- \`${name}\` of a call: ${meaning}`),
      "## Settings",
      `- Players are at least ${property.min_age} years old.`,
      `- Email: ${property.email_consent_mode === "opt_out" ? "all players who have not refused" : "only with a recorded consent"}. Text and push: only with a recorded consent. Calls: only with a written one.`,
      `- Revoking text or voice revokes ${property.revocation_scope === "channel" ? "that channel" : "both"}.`,
      `- The property's clock: ${property.timezone}.`,
      "## Hours at which players may be written to, by their own clock",
      ...(hours.length > 0 ? hours.map((rule) => `- ${hoursWords(rule)}`) : ["- None are set."]),
      "## How often",
      ...(caps.length > 0 ? caps.map((rule) => `- ${capWords(rule)}`) : ["- No cap is set."]),
    ].join("\n"),
  );
}
