/** A calendar month in UTC, counted from January of year 0. */
export type Month = number;

export function monthOf(moment: number | Date): Month {
  const date = new Date(moment);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first millisecond of a month, since 1970. */
export function startOf(month: Month): number {
  return Date.UTC(Math.floor(month / 12), month % 12);
}

/** The lowest id of a month: ids are UUIDv7, which begin with the millisecond. */
export function firstIdOf(month: Month): string {
  const hex = Math.max(0, startOf(month)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** The month that an id names; far from now for an id that is no UUIDv7. */
export function monthOfId(id: string): Month {
  return monthOf(Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16));
}

/** As people write it: 2026-11. */
export function monthName(month: Month): string {
  return new Date(startOf(month)).toISOString().slice(0, 7);
}
