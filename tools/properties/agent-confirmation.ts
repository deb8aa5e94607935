import { z } from "zod";
import { Fault } from "#runtime/faults.ts";
import type { Call } from "#runtime/operation/context.ts";

/** A setting of a property and of a key: either can switch it off. */
export const AgentConfirmation = z
  .enum(["on", "off"])
  .describe(
    "Over MCP, an action that reaches people or cannot be undone is shown first, and runs once it is confirmed",
  );

/** An agent cannot loosen its own confirmations. Throws `forbidden`. */
export function refuseAgents({ transport }: Call, wanted: "on" | "off" | undefined): void {
  if (transport !== "mcp" || wanted !== "off") return;
  throw new Fault("forbidden", {
    message:
      "agent_confirmation cannot be switched off over MCP. A person can, over REST or the command line.",
  });
}
