const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

interface Place {
  country: string | null;
  state: string | null;
}

function placeWords({ country, state }: Place): string {
  return country ? `${country}${state ? `-${state}` : ""}` : "everywhere else";
}

/** A rule of quiet hours as a sentence. */
export function hoursWords(
  rule: Place & {
    channel: readonly string[];
    days: readonly number[];
    open_local: string;
    close_local: string;
    action: string;
  },
): string {
  const days = rule.days.map((day) => DAYS[day]).join(" ");
  const outside = rule.action === "skip" ? "is dropped" : "waits";
  return `${placeWords(rule)}, ${rule.channel.join(" and ")}: ${days} ${rule.open_local} to ${rule.close_local}; outside it a message ${outside}.`;
}

/** A frequency rule as a sentence. */
export function capWords(
  rule: Place & {
    channel: string;
    tag: string | null;
    max_sends: number;
    window_count: number;
    window_unit: string;
    is_active: boolean;
  },
): string {
  const tagged = rule.tag ? `, of campaigns with the tag ${JSON.stringify(rule.tag)}` : "";
  const place = rule.country ? ` (${placeWords(rule)})` : "";
  return `At most ${rule.max_sends} by ${rule.channel} in ${rule.window_count} ${rule.window_unit}${tagged}${place}${rule.is_active ? "" : "; not active"}.`;
}
