import { cast, type Fragment, sql } from "#db/sql.ts";

/** The property that the rules are for, and its calendar, as SQL. */
export interface Scope {
  /** The property's country, in which phone numbers are dialed. */
  home: string;
  property: Fragment;
  /** The property's time zone. */
  zone: Fragment;
  /** Today's date in the property's time zone, computed once a statement. */
  today: Fragment;
}

export function scopeOf(propertyId: string, home = "US"): Scope {
  const property = cast(propertyId, "uuid");
  return {
    home,
    property,
    zone: sql`(select z.timezone from properties z where z.id = ${property})`,
    today: sql`(select (now() at time zone z.timezone)::date from properties z where z.id = ${property})`,
  };
}
