import { z } from "zod";
import { EventName } from "#tools/journeys/nodes/event-filter.ts";
import type { Draft } from "./draft.ts";

const event = (name: string, meaning: string) =>
  EventName.default(name).describe(`The player event that ${meaning}`);
const segment = (meaning: string) => z.uuid().describe(`${meaning}, from list_segments`);
const hello = 'Hello {{ first_name | default: "there" }}';

const Welcome = z.strictObject({
  recipe: z.literal("welcome"),
  event: event("signup", "opens the journey"),
  visit: event("visit", "is the goal"),
});
const WinBack = z.strictObject({
  recipe: z.literal("win_back"),
  segment_id: segment("The players to win back, such as lapsed Gold players"),
  visit: event("visit", "is the goal"),
  holdout_percent: z.number().min(1).max(50).default(10).describe("Players who get nothing, to compare with"),
});
const Birthday = z.strictObject({
  recipe: z.literal("birthday"),
  days_before: z.int().min(0).max(60).default(7).describe("Days before the birthday"),
});
const TierUpgrade = z.strictObject({
  recipe: z.literal("tier_upgrade"),
  segment_id: segment("The players of the tier, by a dynamic segment"),
});
const VisitThanks = z.strictObject({
  recipe: z.literal("visit_thanks"),
  event: event("visit", "opens the journey"),
});
const BigLoss = z.strictObject({
  recipe: z.literal("big_loss_check_in"),
  event: event("loss", "opens the journey"),
  property: z.string().min(1).max(100).default("amount").describe("The event's property that holds the loss"),
  least: z.number().positive().default(5000).describe("From which loss on"),
});

/** The settings of a recipe. */
export const RecipeSettings = z
  .discriminatedUnion("recipe", [Welcome, WinBack, Birthday, TierUpgrade, VisitThanks, BigLoss])
  .describe("A recipe with its settings");
export type RecipeSettings = z.output<typeof RecipeSettings>;

const email = (id: string, subject: string, text: string) => ({
  id,
  type: "message" as const,
  config: { channel: "email" as const, subject, body_html: `<p>${hello},</p><p>${text}</p>` },
});
const after = (id: string, amount: number, unit: "hours" | "days") => ({
  id,
  type: "delay" as const,
  config: { by: "duration" as const, duration: { amount, unit } },
});
const morning = (id: string) => ({
  id,
  type: "delay" as const,
  config: { by: "until_local_time" as const, time: "10:00" },
});
const waitFor = (id: string, name: string, days: number) => ({
  id,
  type: "wait_until" as const,
  config: { event: { name }, timeout: { amount: days, unit: "days" as const } },
});
const goal = { id: "goal", type: "goal" as const, config: {} };
const end = (reason: string) => ({ id: "end", type: "exit" as const, config: { reason } });
/** Each node leads to the next one. */
const chain = (...ids: string[]) => ids.slice(1).map((to, index) => ({ from: ids[index]!, to }));

/** The draft that a recipe makes of its settings. */
export function draftOf(settings: RecipeSettings): Draft {
  switch (settings.recipe) {
    case "welcome":
      return welcome(settings);
    case "win_back":
      return winBack(settings);
    case "birthday":
      return birthday(settings);
    case "tier_upgrade":
      return tierUpgrade(settings);
    case "visit_thanks":
      return visitThanks(settings);
    case "big_loss_check_in":
      return bigLoss(settings);
  }
}

function welcome(settings: z.output<typeof Welcome>): Draft {
  return {
    description: "Greets new members, and reminds those who have not come within a week.",
    draft_definition: {
      nodes: [
        { id: "signup", type: "trigger", config: { on: "event", event: settings.event } },
        email("hello", "Welcome to the club", "Good to have you. Your first visit earns double points."),
        waitFor("first_visit", settings.visit, 7),
        morning("morning"),
        email("reminder", "Your double points still wait", "Your first visit still earns double points."),
        waitFor("second_chance", settings.visit, 14),
        goal,
        end("not_seen"),
      ],
      edges: [
        ...chain("signup", "hello", "first_visit"),
        { from: "first_visit", to: "goal", label: "yes" },
        { from: "first_visit", to: "morning", label: "timed_out" },
        ...chain("morning", "reminder", "second_chance"),
        { from: "second_chance", to: "goal", label: "yes" },
        { from: "second_chance", to: "end", label: "timed_out" },
      ],
    },
    goal: { event: { name: settings.visit } },
  };
}

function winBack({ segment_id, visit, holdout_percent }: z.output<typeof WinBack>): Draft {
  return {
    description:
      "Invites players who have stayed away, twice at the most, and measures it against a holdout.",
    draft_definition: {
      nodes: [
        { id: "lapsed", type: "trigger", config: { on: "segment_enter", segment_id } },
        { id: "by_call", type: "trigger", config: { on: "api" } },
        {
          id: "split",
          type: "random_split",
          config: {
            splits: [
              { label: "invited", percent: 100 - holdout_percent },
              { label: "held_out", percent: holdout_percent },
            ],
          },
        },
        morning("morning"),
        email("invitation", "We miss you", "Come back this month, and dinner is on us."),
        waitFor("back", visit, 10),
        email("last_call", "Dinner is still on us", "Your invitation ends this week."),
        waitFor("back_late", visit, 10),
        goal,
        end("not_seen"),
        { id: "held_out", type: "exit", config: { reason: "held_out" } },
      ],
      edges: [
        ...chain("lapsed", "split"),
        ...chain("by_call", "split"),
        { from: "split", to: "morning", label: "invited" },
        { from: "split", to: "held_out", label: "held_out" },
        ...chain("morning", "invitation", "back"),
        { from: "back", to: "goal", label: "yes" },
        { from: "back", to: "last_call", label: "timed_out" },
        ...chain("last_call", "back_late"),
        { from: "back_late", to: "goal", label: "yes" },
        { from: "back_late", to: "end", label: "timed_out" },
      ],
    },
    reentry: { mode: "after_exit", cooldown_hours: 90 * 24 },
    goal: { event: { name: visit } },
  };
}

function birthday({ days_before }: z.output<typeof Birthday>): Draft {
  return {
    description: "A gift for the birthday, once a year.",
    draft_definition: {
      nodes: [
        {
          id: "birthday",
          type: "trigger",
          config: { on: "date_field", field: "birth_date", offset_days: -days_before, time: "09:00" },
        },
        morning("morning"),
        email(
          "gift",
          "Your birthday gift",
          "Your birthday is near. A gift waits for you at the players club.",
        ),
        end("completed"),
      ],
      edges: chain("birthday", "morning", "gift", "end"),
    },
    reentry: { mode: "after_exit", cooldown_hours: 300 * 24 },
  };
}

function tierUpgrade({ segment_id }: z.output<typeof TierUpgrade>): Draft {
  return {
    description: "Congratulates players who come into a tier, and tells their host.",
    draft_definition: {
      nodes: [
        { id: "new_tier", type: "trigger", config: { on: "segment_enter", segment_id } },
        { id: "host", type: "webhook", config: { name: "tier_upgrade" } },
        morning("morning"),
        email(
          "congratulations",
          "Welcome to {{ tier }}",
          "You are {{ tier }} now. Your new benefits begin today.",
        ),
        end("completed"),
      ],
      edges: chain("new_tier", "host", "morning", "congratulations", "end"),
    },
    reentry: { mode: "after_exit", cooldown_hours: 180 * 24 },
  };
}

function visitThanks(settings: z.output<typeof VisitThanks>): Draft {
  return {
    description: "Says thank you on the day after a visit, once in two weeks at the most.",
    draft_definition: {
      nodes: [
        { id: "visit", type: "trigger", config: { on: "event", event: settings.event } },
        after("rest", 12, "hours"),
        morning("morning"),
        email("thanks", "Thank you for your visit", "It was good to see you. Tell us how it was."),
        end("completed"),
      ],
      edges: chain("visit", "rest", "morning", "thanks", "end"),
    },
    reentry: { mode: "after_exit", cooldown_hours: 14 * 24 },
  };
}

function bigLoss({ event: name, property, least }: z.output<typeof BigLoss>): Draft {
  return {
    description:
      "Tells a host about a big loss, and holds the player's offers back. The player gets no message: responsible gaming is a conversation.",
    draft_definition: {
      nodes: [
        {
          id: "loss",
          type: "trigger",
          config: { on: "event", event: name, properties: [{ property, operator: "gte", value: least }] },
        },
        { id: "host", type: "webhook", config: { name: "big_loss_check_in" } },
        { id: "mark", type: "update_player", config: { add_tags: ["check_in"] } },
        after("rest", 14, "days"),
        { id: "unmark", type: "update_player", config: { remove_tags: ["check_in"] } },
        end("completed"),
      ],
      edges: chain("loss", "host", "mark", "rest", "unmark", "end"),
    },
    reentry: { mode: "after_exit" },
  };
}
