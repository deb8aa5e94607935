import { bars, count, figures, list, money, sorted, text } from "./parts.js";

/** The answer of preflight_campaign. */
export function render(checked) {
  const waiting = Object.values(checked.deferred ?? {}).reduce((sum, { count: some }) => sum + some, 0);
  const problems = checked.errors.map(({ field, message }) => `${field}: ${message}`);
  const samples = checked.sample_renders.map(
    ({ to, subject, text: body }) =>
      `<details><summary>${text(to)}${subject ? `: ${text(subject)}` : ""}</summary><pre>${text(body)}</pre></details>`,
  );
  const reach = [
    ["audience", count(checked.audience)],
    ["messages", count(checked.allowed)],
    ["wait_first", count(waiting)],
    ["cost", money(checked.estimated_cost)],
  ];
  return `<h1>${checked.ok ? "It can be sent now" : "It cannot be sent as it is"}</h1>${list(problems)}${figures(reach)}${bars("Who gets none, and why", sorted(checked.blocked), checked.audience)}${list(checked.warnings)}<h2>As players will see it</h2>${samples.join("") || "<p>Nobody would get it.</p>"}`;
}
