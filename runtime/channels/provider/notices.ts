/** A vendor's time as ISO text. An invalid or future time becomes `now` (milliseconds). Numbers are Unix seconds. */
export function timeAt(given: string | number, now: number): string {
  const time = typeof given === "number" ? given * 1000 : Date.parse(given);
  return new Date(Number.isFinite(time) && time > 0 ? Math.min(time, now) : now).toISOString();
}

/** The objects in a JSON array, or the one object; none when the body is not JSON. */
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
