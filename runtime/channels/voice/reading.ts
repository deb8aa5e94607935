import type { CallReading, Notice } from "../provider/channel.ts";
import { callApi } from "../provider/vendor-api.ts";
import { type Json, objectAt } from "./signed.ts";

/** Asks a vendor for one call. `noticesOf` reads its record; no notices: it has not ended. */
export async function readCall(request: Request, noticesOf: (call: Json) => Notice[]): Promise<CallReading> {
  const reply = await callApi(request);
  if (!("status" in reply)) return { state: "unavailable" };
  if (reply.status === 404) return { state: "no_such_call" };
  if (reply.status >= 300) return { state: "unavailable" };
  const notices = noticesOf(objectAt(reply.body));
  return notices.length > 0 ? { state: "told", notices } : { state: "live" };
}
