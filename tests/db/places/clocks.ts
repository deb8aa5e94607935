const HALF_DAY = 43_200_000;
const clocks = new Map<string, string>();

/** Whether clocks in two zones show the same from 2020 to 2037: then one of them stands for both. */
export function sameClock(one: string, other: string): boolean {
  return one === other || clockOf(one) === clockOf(other);
}

function clockOf(zone: string): string {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  const changes: string[] = [];
  for (let at = Date.UTC(2020, 0); at < Date.UTC(2038, 0); at += HALF_DAY) {
    const offset = format.formatToParts(at).find(({ type }) => type === "timeZoneName")!.value;
    if (!changes.at(-1)?.endsWith(offset)) changes.push(`${at} ${offset}`);
  }
  clocks.set(zone, changes.join());
  return changes.join();
}
