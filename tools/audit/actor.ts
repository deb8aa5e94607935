import { z } from "zod";

/** The caller whose action an audit row records. */
export const Actor = z.object({
  type: z.enum(["player", "user", "api_key", "system"]),
  id: z.uuid().nullable(),
});

/** The actor, over the columns of an audit row. */
export const ACTOR_SQL = "jsonb_build_object('type', actor_type, 'id', actor_id)";
