import { cast, type Fragment, sql } from "#db/sql.ts";

/** The property that the rules are for, and its calendar, as SQL. */
export interface RuleScope {
  /** The property's country, in which phone numbers are dialed. */
  home: string;
  property: Fragment;
  /** The property's time zone. */
  zone: Fragment;
  /** The moment for which the rules are judged. */
  now: Fragment;
  /** The date of that moment in the property's time zone, computed once a statement. */
  today: Fragment;
}

/** `at`: the ISO time for which the rules are judged. Default: the transaction's time. */
export function ruleScopeOf(
  propertyId: string,
  { home = "US", at }: { home?: string | undefined; at?: string | undefined } = {},
): RuleScope {
  const property = cast(propertyId, "uuid");
  const now = at === undefined ? sql`now()` : cast(at, "timestamptz");
  return {
    home,
    property,
    zone: sql`(select z.timezone from properties z where z.id = ${property})`,
    now,
    today: sql`(select (${now} at time zone z.timezone)::date from properties z where z.id = ${property})`,
  };
}
