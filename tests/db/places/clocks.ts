const HALF_DAY = 43_200_000;
const WEEK = 14 * HALF_DAY;
const clocks = new Map<string, string>();

/** Whether clocks in two zones show the same from 2020 to 2037: then one of them stands for both. */
export function sameClock(one: string, other: string): boolean {
  return one === other || clockOf(one) === clockOf(other);
}

function clockOf(zone: string): string {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  const offsetAt = (at: number) =>
    format.formatToParts(at).find(({ type }) => type === "timeZoneName")!.value;
  const first = Date.UTC(2020, 0);
  const changes = [`${first} ${offsetAt(first)}`];
  // No zone changes its clocks twice within a week.
  for (let week = first; week < Date.UTC(2038, 0); week += WEEK) {
    if (offsetAt(week) === offsetAt(week + WEEK)) continue;
    for (let at = week + HALF_DAY; at <= week + WEEK; at += HALF_DAY) {
      const offset = offsetAt(at);
      if (!changes.at(-1)!.endsWith(offset)) changes.push(`${at} ${offset}`);
    }
  }
  clocks.set(zone, changes.join());
  return changes.join();
}
