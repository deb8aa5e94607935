import { html } from "hono/html";
import { Fault } from "#runtime/faults.ts";
import { dropUpload, receiveFile } from "#tools/imports/upload.ts";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { term } from "#transports/console/terms.ts";
import { say } from "#transports/console/words/say.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { checkDeclared, receiveParts } from "#transports/rest/upload-body.ts";
import { PART } from "./list.ts";

/** The form that takes a file. */
export function uploadPage(desk: Desk): Promise<Response> {
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: say().imports.imports },
    heading: say().general.importPlayers,
    content: html`<form class="form narrow" method="post" action="${PART}/new" enctype="multipart/form-data"><input type="hidden" name="params" value="token=${desk.token}"><div class="field"><label for="file">${say().imports.file}</label><input id="file" name="file" type="file" accept=".csv,.tsv,.txt,text/csv" required><p class="hint">${say().imports.csvAtMost200Mb}</p></div><p class="soft">${say().imports.nextTheColumns(term("dry_run"))}</p><div class="acts"><button>${say().imports.uploadAndLookInto}</button></div></form>`,
  });
}

/** Keeps the file, if a page of ours has sent it, and goes on to its columns. */
export async function receiveUpload({ service }: Mounting, desk: Desk): Promise<Response> {
  const { incoming } = desk.c.env;
  checkDeclared(incoming);
  const { upload_id } = await desk.run<{ upload_id: string }>("create_upload_link");
  const upload = { propertyId: desk.property.id, id: upload_id };
  const drop = () =>
    service.db.asProperty(upload.propertyId, (sql) => dropUpload(sql, upload.propertyId, upload.id));
  let size = 0;
  try {
    const params = await receiveParts(incoming, async (file, filename) => {
      size = await receiveFile(service.db, { ...upload, filename }, file);
    });
    const refused = await desk.refusal(new URLSearchParams(params));
    if (refused) {
      await drop();
      return refused;
    }
  } catch (error) {
    await drop();
    throw error;
  }
  if (size === 0) {
    await drop();
    throw new Fault("invalid", { message: "The file is empty. Choose one with players in it." });
  }
  return redirect(`${PART}/files/${upload_id}`);
}
