/** The columns of a player that templates may use. */
export const PLAYER_FIELDS = [
  "player_id",
  "email",
  "phone",
  "first_name",
  "last_name",
  "tier",
  "adt",
  "coin_in",
  "lifetime_theo",
  "status",
  "timezone",
  "state",
  "postal_code",
  "country",
  "birth_date",
  "language",
  "custom",
  "last_visit_at",
  "tags",
] as const;

/** The fields of a player that templates may name without `player.` too. */
export const BARE_FIELDS: readonly string[] = ["first_name", "last_name", "email", "tier"];

/** A player with a value in every field, and in each custom field that the template reads. */
export function completePlayer(variables: readonly string[]): Record<string, unknown> {
  const texts = Object.fromEntries(PLAYER_FIELDS.map((field) => [field, "sample"]));
  const custom = variables.flatMap((path) => /^player\.custom\.(\w+)/.exec(path)?.[1] ?? []);
  return {
    ...texts,
    email: "player@example.com",
    adt: 100,
    coin_in: 1000,
    lifetime_theo: 5000,
    birth_date: "1980-01-31",
    last_visit_at: "2026-01-31T12:00:00Z",
    tags: ["sample"],
    custom: Object.fromEntries(custom.map((key) => [key, "sample"])),
  };
}
