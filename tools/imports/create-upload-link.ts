import { randomUUIDv7 } from "node:crypto";
import { z } from "zod";
import { timestamp } from "#runtime/operation/columns.ts";
import { tool } from "#runtime/operation/operation.ts";
import { timedToken } from "#runtime/secrets/timed-links.ts";
import { MOST_FILE, UPLOAD_LINK, type UploadLink } from "./upload.ts";

export default tool({
  name: "create_upload_link",
  title: "Make a link to upload a file",
  description:
    "Answers an address that takes one CSV file without a credential, so that the file need not pass through an agent. PUT the file there within 15 minutes; then give its upload_id to create_import_job.",
  scope: "write",
  effect: "create",
  property: "propertyId",
  input: {
    propertyId: z.uuid(),
    filename: z.string().trim().min(1).max(300).optional().describe("For people; it is kept with the file"),
  },
  output: z.object({
    upload_id: z.uuid().describe("For create_import_job, once the file is there"),
    url: z.url().describe("PUT the file's bytes here, once"),
    command: z.string().describe("The same for a shell, with the name of your file in place of players.csv"),
    expires_at: timestamp(),
    max_bytes: z.int(),
  }),
  secrets: ["url", "command"],
  faults: ["invalid"],
  async handler({ property, config, now, call, audit }, { filename = null }) {
    const upload_id = randomUUIDv7();
    const payload: UploadLink = { property: property.id, upload: upload_id, filename, actor: call.actor };
    const { token, expires_at } = timedToken(config, UPLOAD_LINK, now(), payload);
    const url = `${config.baseUrl}/uploads/${token}`;
    audit({ entity: "uploads", entityId: upload_id });
    return { upload_id, url, command: `curl -T players.csv '${url}'`, expires_at, max_bytes: MOST_FILE };
  },
});
