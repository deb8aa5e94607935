import { formOfValues } from "#db/query/forms.ts";
import type { Form } from "#db/query/readable-table.ts";
import { type Fragment, raw, sql } from "#db/sql.ts";
import { UUID } from "#db/text.ts";
import type { Fault } from "#runtime/faults.ts";
import { type CustomFields, storedForm, unknownField } from "#tools/custom-fields/values.ts";
import { EVENT_NAME } from "#tools/events/player-events.table.ts";
import { EMAIL_FORM, PHONE_FORM } from "#tools/people/address.ts";
import { COUNTRY_FORM, LANGUAGE_FORM, STATE_FORM } from "#tools/people/places.ts";
import { TIME_ZONE_FORM } from "#tools/people/time-zones.ts";
import { EMAIL_STATUSES, PLAYER_STATUSES } from "#tools/statuses/players.ts";
import { CUSTOM_AS, customSql } from "./custom-fields.ts";
import { eventAggregate } from "./event-fields.ts";
import type { Field, FieldType } from "./field.ts";
import type { RuleScope } from "./rule-scope.ts";
import { lastMessage, SEND } from "./sends.ts";
import { suppressed } from "./suppressed.ts";

/** The player columns that a condition may name. */
export const COLUMNS = {
  id: "uuid",
  property_id: "uuid",
  player_id: "text",
  email: "text",
  phone: "text",
  phone_e164: "text",
  first_name: "text",
  last_name: "text",
  tier: "text",
  adt: "number",
  coin_in: "number",
  lifetime_theo: "number",
  status: "text",
  timezone: "text",
  state: "text",
  postal_code: "text",
  country: "text",
  birth_date: "date",
  language: "text",
  phone_type: "text",
  email_status: "text",
  email_validated_at: "timestamp",
  last_visit_at: "timestamp",
  host_id: "uuid",
  import_job_id: "uuid",
  tags: "list",
  legal_hold: "boolean",
  created_at: "timestamp",
  updated_at: "timestamp",
} as const satisfies Record<string, FieldType>;

/** How the values of columns are stored, where it is not as anybody may write them. */
const FORMS: Readonly<Partial<Record<keyof typeof COLUMNS, Form>>> = {
  email: EMAIL_FORM,
  phone: PHONE_FORM,
  phone_e164: PHONE_FORM,
  status: formOfValues(PLAYER_STATUSES),
  state: STATE_FORM,
  country: COUNTRY_FORM,
  email_status: formOfValues(EMAIL_STATUSES),
  language: LANGUAGE_FORM,
  timezone: TIME_ZONE_FORM,
};

const CASTS: Record<FieldType, string> = {
  text: "text",
  number: "double precision",
  boolean: "boolean",
  timestamp: "timestamptz",
  date: "date",
  uuid: "uuid",
  list: "text[]",
  flag: "boolean",
  segment: "boolean",
};

/** The channels of a journey's messages, by their nodes. */
export type Messages = Readonly<Record<string, string>>;

/** The sources of the fields of one compilation. */
export interface Sources {
  scope: RuleScope;
  customs: CustomFields;
  tiers: readonly string[];
  /** In a journey: the channels of its messages, by their nodes. */
  messages?: Messages | undefined;
  /** The SQL of a segment's audience. */
  segment(id: string): Fragment;
  /** The fault that names the condition's field. */
  wrong(message: string): Fault;
}

type Read = Pick<Field, "type" | "sql" | "events" | "form"> & { cast?: string };

interface Family {
  form: string;
  pattern: RegExp;
  /** One field, or several among which the property's definition chooses. */
  types: readonly FieldType[];
  meaning: string;
  read(parts: string[], sources: Sources): Read;
}

const CAMPAIGN_FORM = `campaign.<id>.<${Object.keys(SEND).join("|")}>`;
const JOURNEY_FORM = "journey.<id>.status";
const GAME_FORM = "game.<id>.<plays|won>";

/** The fields whose names carry a key, a channel or an id. */
export const FAMILIES: readonly Family[] = [
  {
    form: "custom.<key>",
    pattern: /^custom\.([a-z][a-z0-9_]{0,39})$/,
    types: [...new Set(Object.values(CUSTOM_AS))],
    meaning: "A custom field, as the type that list_custom_fields gives for it: an enum is a text.",
    read([key], { scope, customs, wrong }) {
      const field = customs.get(key!);
      if (!field) throw wrong(unknownField(customs));
      const form = CUSTOM_AS[field.type] === "text" ? storedForm(field) : undefined;
      return { type: CUSTOM_AS[field.type], ...customSql(field, scope), ...(form && { form }) };
    },
  },
  {
    form: "consent.<channel>",
    pattern: /^consent\.(sms|email|voice|push)$/,
    types: ["boolean"],
    meaning:
      "The last consent given (true) or refused (false) for sms, email, voice or push; missing when never asked.",
    read: ([channel]) => ({
      type: "boolean",
      sql: sql`case p.consents -> ${raw(`'${channel}'`)} when 'true'::jsonb then true when 'false'::jsonb then false end`,
    }),
  },
  {
    form: "suppressed.<channel|all>",
    pattern: /^suppressed\.(sms|email|voice|push|all)$/,
    types: ["flag"],
    meaning:
      "Whether a suppression in force stops sms, email, voice, push or all for the player or for the address.",
    read: ([channel], { scope }) => ({ type: "flag", sql: suppressed(channel!, scope) }),
  },
  {
    form: CAMPAIGN_FORM,
    pattern: new RegExp(`^campaign\\.((?i:${UUID}))\\.(${Object.keys(SEND).join("|")})$`),
    types: ["flag"],
    meaning:
      "Whether the campaign's message was sent to, opened by or clicked by the player; whether the player reached its goal, redeemed its offer, or was held out for comparison.",
    read: ([id, what], { scope }) => ({
      type: "flag",
      sql: sql`exists (select 1 from campaign_sends c where c.property_id = ${scope.property}
        and c.campaign_id = ${id}::uuid and c.player_id = p.id and ${SEND[what!]!})`,
    }),
  },
  {
    form: "last_sent.<channel|any>",
    pattern: /^last_sent\.(any|email|sms|voice|push|inbox)$/,
    types: ["timestamp"],
    meaning:
      "When the last message went to the player, by email, sms, voice, push, inbox or any; missing before the first.",
    read: ([channel], { scope }) => ({
      type: "timestamp",
      sql: sql`select max(c.sent_at) from campaign_sends c where c.property_id = ${scope.property}
        and c.player_id = p.id and c.status in ('sent', 'delivered') and c.test_of is null
        ${raw(channel === "any" ? "" : `and c.channel = '${channel}'`)}`,
    }),
  },
  {
    form: "event.<name>.<count|last_at|first_at|sum:property>",
    pattern: new RegExp(
      `^event\\.(${EVENT_NAME})\\.(count|last_at|first_at|sum:[A-Za-z0-9_][A-Za-z0-9_ -]{0,59})$`,
    ),
    types: ["number", "timestamp"],
    meaning:
      'How often, when last and when first the player did it, and the sum of a number among the events\' properties. Count and sum are 0 where there are no events. With the operator `is`, {op, n, within_days} counts the last days alone: {"op": "gte", "n": 3, "within_days": 30}.',
    read([name, what]) {
      const aggregate = eventAggregate(what!);
      return {
        ...aggregate,
        events: { name: name!, none: aggregate.type === "number" ? "zero" : "missing" },
      };
    },
  },
  {
    form: JOURNEY_FORM,
    pattern: new RegExp(`^journey\\.((?i:${UUID}))\\.status$`),
    types: ["text"],
    meaning:
      "The state of the player's last entry into the journey: active, completed, exited or failed; missing for a player who was never in it.",
    read: ([id], { scope }) => ({
      type: "text",
      sql: sql`select j.status from journey_enrollments j
        where j.property_id = ${scope.property} and j.journey_id = ${id}::uuid and j.player_id = p.id
        order by j.entered_at desc, j.id desc limit 1`,
      form: formOfValues(["active", "completed", "exited", "failed"]),
    }),
  },
  {
    form: GAME_FORM,
    pattern: new RegExp(`^game\\.((?i:${UUID}))\\.(plays|won)$`),
    types: ["number"],
    meaning: "How often the player has played the game, and how often the player has won; 0 without a play.",
    read: ([id, what], { scope }) => ({
      type: "number",
      sql: sql`select count(*) from game_plays g where g.property_id = ${scope.property}
        and g.game_id = ${id}::uuid and g.player_id = p.id and g.status <> 'voided'${raw(what === "won" ? " and g.outcome = 'win'" : "")}`,
    }),
  },
  {
    form: "segment.<id>",
    pattern: new RegExp(`^segment\\.((?i:${UUID}))$`),
    types: ["segment"],
    meaning: "Whether the player is in the segment.",
    read: ([id], { segment }) => ({ type: "segment", sql: segment(id!.toLowerCase()) }),
  },
];

/** The fields of conditions in a journey alone, as SQL over its enrollment `d` too. */
export const JOURNEY_FAMILIES: readonly Family[] = [
  {
    form: "message.<node>.<sent|opened|clicked>",
    pattern: /^message\.([a-z][a-z0-9_-]{0,39})\.(sent|opened|clicked)$/,
    types: ["flag"],
    meaning:
      "Whether the last message of this node in the player's own entry was sent, and whether the player has opened or clicked it: email and inbox; push knows clicks alone, texts and calls neither. In wait_until, opened eq true with a timeout of three days sends those who have not opened it along the edge timed_out; in branch, opened eq false holds for those who have not so far.",
    read([node, what], { scope, messages = {}, wrong }) {
      const channel = Object.hasOwn(messages, node!) ? messages[node!]! : null;
      if (channel === null)
        throw wrong(`names no message of this journey; it has ${Object.keys(messages).join(", ") || "none"}`);
      const fact = lastMessage(node!, what!, { channel, scope });
      if (!fact) throw wrong(`can never hold: nobody counts who has ${what} a message by ${channel}`);
      return { type: "flag", sql: fact };
    },
  },
];

/** The names and forms that a condition's field may take. */
export const FIELD_FORMS: readonly string[] = [
  ...Object.keys(COLUMNS),
  ...FAMILIES.map((family) => family.form),
];

/** The field of that name, or nothing. */
export function fieldOf(name: string, sources: Sources): Field | undefined {
  if (Object.hasOwn(COLUMNS, name)) {
    const type = COLUMNS[name as keyof typeof COLUMNS];
    const form = FORMS[name as keyof typeof COLUMNS];
    // Phones are stored as E.164, so both names mean one column.
    return {
      name,
      type,
      sql: raw(`p.${name === "phone_e164" ? "phone" : name}`),
      cast: CASTS[type],
      ...(form && { form }),
      ...(name === "tier" && { tiers: sources.tiers }),
    };
  }
  for (const family of sources.messages ? [...FAMILIES, ...JOURNEY_FAMILIES] : FAMILIES) {
    const match = family.pattern.exec(name);
    if (!match) continue;
    const { type, sql: expression, cast = CASTS[type], events, form } = family.read(match.slice(1), sources);
    return { name, type, sql: sql`(${expression})`, cast, ...(events && { events }), ...(form && { form }) };
  }
  return undefined;
}

/** The id of the segment that a field names, in lower case. */
export function segmentNamed(field: string): string | undefined {
  return partOf("segment.<id>", field)?.toLowerCase();
}

/** The id of the campaign that a field names, in lower case. */
export function campaignNamed(field: string): string | undefined {
  return partOf(CAMPAIGN_FORM, field)?.toLowerCase();
}

/** The id of the journey that a field names, in lower case. */
export function journeyNamed(field: string): string | undefined {
  return partOf(JOURNEY_FORM, field)?.toLowerCase();
}

/** The id of the game that a field names, in lower case. */
export function gameNamed(field: string): string | undefined {
  return partOf(GAME_FORM, field)?.toLowerCase();
}

/** The key of the custom field that a field names. */
export function customNamed(field: string): string | undefined {
  return partOf("custom.<key>", field);
}

function partOf(form: string, field: string): string | undefined {
  return FAMILIES.find((family) => family.form === form)?.pattern.exec(field)?.[1];
}
