import { z } from "zod";
import { readable, timestamp } from "#runtime/columns.ts";
import { table } from "#runtime/operation.ts";

export default table({
  name: "self_exclusions",
  noun: "self_exclusion",
  concise: ["player_id", "program", "jurisdiction", "starts_at", "ends_at", "source", "created_at"],
  description:
    "A self-exclusion bars a person from every channel, game and offer while it lasts. It is never changed or removed.",
  verbs: ["list", "get"],
  columns: {
    player_id: readable(z.uuid().nullable()),
    program: readable(z.string().nullable()),
    jurisdiction: readable(z.string().nullable()),
    starts_at: readable(timestamp()),
    ends_at: readable(timestamp().nullable()),
    source: readable(z.string().nullable()),
    external_ref: readable(z.string().nullable()),
    identity_hash: readable(z.string().nullable(), "encode(identity_hash, 'hex')"),
    address_hashes: readable(
      z.array(z.string()),
      "array(select encode(hash, 'hex') from unnest(address_hashes) as hash)",
    ),
  },
});
