import manifest from "../../package.json" with { type: "json" };

/** The server's identity for agents. */
export const NAME = "player-marketing";
export const TITLE = "Player marketing";
export const VERSION = manifest.version;
export const DESCRIPTION =
  "Players, campaigns, consent and compliance of a casino property, as tools for AI agents.";

/** Its path under the base address. */
export const PATH = "/api/mcp";

/** Protocol revisions, newest first. The first is stateless; the others begin with `initialize`. */
export const REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"] as const;
