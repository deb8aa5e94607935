import type { CallLine, CallNews, VoiceMessage } from "../provider/call.ts";
import type { Notice, SendOutcome } from "../provider/channel.ts";
import { callApi, textAt, trouble } from "../provider/vendor-api.ts";

/** Asks a vendor of agents for one call. `id`: the field of the call's id in its answer. */
export async function askForCall(message: VoiceMessage, request: Request, id: string): Promise<SendOutcome> {
  const reply = await callApi(request);
  if (!("status" in reply)) return trouble(message, reply);
  const callId = textAt(reply.body, id);
  if (reply.status < 300 && callId !== "")
    return { id: message.id, status: "sent", providerMessageId: callId };
  const words =
    [textAt(reply.body, "message"), textAt(reply.body, "error_message")].find((text) => text !== "") ?? "";
  return trouble(message, reply, { code: "", message: words, own: words !== "" });
}

/** A request with JSON and a bearer's key. */
export function jsonRequest(url: string, authorization: string, body: object): Request {
  return new Request(url, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** The notice about an agent's call, without what the vendor left out. */
export function callNotice(
  { callId, event, sendId, at }: { callId: string; event: string; sendId: string; at: number },
  news: Omit<CallNews, "kind">,
): Notice[] {
  if (callId === "") return [];
  const about = {
    eventId: `${callId}:${event}`,
    at: new Date(at).toISOString(),
    providerMessageId: callId,
    ...(sendId !== "" && { sendId }),
  };
  return [{ ...about, kind: "call", ...news }];
}

/** The lines of a call: `us` is the agent, `them` the person; other roles said nothing. */
export function linesFrom(
  said: readonly { role: string; text: string }[],
  roles: Readonly<Record<string, CallLine["by"]>>,
): CallLine[] {
  return said.flatMap(({ role, text }) => {
    const by = roles[role];
    return by && text.trim() !== "" ? [{ by, text }] : [];
  });
}
