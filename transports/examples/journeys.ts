import { exampleId } from "./record-ids.ts";

const journey = { journeyId: exampleId("journeys") };

/** Inputs about journeys. */
export const JOURNEY_EXAMPLES = {
  create_journey: {
    name: "Thanks after a visit",
    draft_definition: {
      nodes: [
        { id: "visit", type: "trigger", config: { on: "event", event: "visit" } },
        { id: "rest", type: "delay", config: { by: "until_local_time", time: "10:00" } },
        {
          id: "thanks",
          type: "message",
          config: {
            channel: "email",
            subject: "Thank you for your visit",
            body_html: "<p>It was good to see you.</p>",
          },
        },
      ],
      edges: [
        { from: "visit", to: "rest" },
        { from: "rest", to: "thanks" },
      ],
    },
    reentry: { mode: "after_exit", cooldown_hours: 336 },
  },
  update_journey: { id: exampleId("journeys"), description: "For everybody who has just joined" },
  create_journey_from_recipe: { settings: { recipe: "visit_thanks" }, name: "Thanks after each visit" },
  preview_journey_message: journey,
  validate_journey: journey,
  simulate_journey: {
    ...journey,
    playerIds: [exampleId("players")],
    days: 30,
    assume: { by: "chances", events: [{ name: "visit", per_day: 0.1 }] },
  },
  publish_journey: { ...journey, dry_run: true },
  pause_journey: journey,
  resume_journey: { ...journey, dry_run: true },
  archive_journey: { ...journey, dry_run: true },
  enroll_players: { ...journey, playerIds: [exampleId("players")], dry_run: true },
  exit_players: { ...journey, playerIds: [exampleId("players")], dry_run: true },
  create_journey_enrollment: {
    journey_id: exampleId("journeys"),
    player_id: exampleId("players"),
    dry_run: true,
  },
  forecast_sending: { days: 7 },
  explain_enrollment: { enrollmentId: exampleId("journey_enrollments") },
  draw_journey: { ...journey, format: "svg" },
  journey_report: journey,
  verify_journey: journey,
};
