import type { CallToolResult } from "@modelcontextprotocol/server";
import { visible } from "#runtime/visible-text.ts";
import type { Failure } from "./errors.ts";

/**
 * The result of a call that waits for a person's approval; null for any other failure. It is no error: the call has
 * done all that it can.
 */
export function waitingResult({ code, message, details = [] }: Failure): CallToolResult | null {
  if (code !== "approval_required") return null;
  const detailOf = (name: string) => details.find(({ field }) => field === name)?.message;
  const [id, until] = [detailOf("proposal_id"), detailOf("expires_at")];
  if (id === undefined || until === undefined) return null;
  const how = `Tell the person for whom you work: a manager of the property approves or refuses it in the console, under Approvals (/console/approvals/${id}). No tool approves it. get_proposal with this id says what became of it; withdraw_proposal takes it back. Calling again does not hurry it.`;
  const text = `${visible(message)}\n${how}`;
  return {
    structuredContent: {
      approval_required: true,
      proposal: { id, status: "waiting", expires_at: until },
      message: text,
      next_tools: ["get_proposal", "withdraw_proposal"],
    },
    content: [{ type: "text", text }],
  };
}
