/** A vendor's time as ISO text; `now`, in milliseconds, when it is none or lies ahead. Numbers are Unix seconds. */
export function timeAt(given: string | number, now: number): string {
  const time = typeof given === "number" ? given * 1000 : Date.parse(given);
  return new Date(Number.isFinite(time) && time > 0 ? Math.min(time, now) : now).toISOString();
}

/** The objects in a JSON array, or the one object; nothing when it is no JSON. */
export function objectsIn(body: Buffer): Record<string, unknown>[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString("utf8"));
  } catch {
    return [];
  }
  const list = Array.isArray(parsed) ? parsed : [parsed];
  return list.filter((one): one is Record<string, unknown> => typeof one === "object" && one !== null);
}
