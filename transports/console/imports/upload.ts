import { html } from "hono/html";
import { Fault } from "#runtime/faults.ts";
import { dropUpload, receiveFile } from "#tools/imports/upload.ts";
import type { Desk } from "#transports/console/desk.ts";
import { consolePage } from "#transports/console/frame.ts";
import { redirect, refusedPage } from "#transports/console/sign-in.ts";
import { term } from "#transports/console/terms.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { checkDeclared, receiveParts } from "#transports/rest/upload-body.ts";
import { PART } from "./list.ts";

/** The form that takes a file. */
export function uploadPage(desk: Desk): Promise<Response> {
  return consolePage(desk, {
    part: PART,
    above: { path: PART, name: "Imports" },
    heading: "Import players",
    content: html`<form class="form narrow" method="post" action="${PART}/new" enctype="multipart/form-data"><input type="hidden" name="params" value="token=${desk.token}"><div class="field"><label for="file">File</label><input id="file" name="file" type="file" accept=".csv,.tsv,.txt,text/csv" required><p class="hint">CSV, at most 200 MB and 1,000,000 rows. The first row names the columns.</p></div><p class="soft">Next you say what each column is. Nothing is imported before a ${term("dry_run")} has shown you what would happen.</p><div class="acts"><button>Upload and look into it</button></div></form>`,
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
    if (!desk.isOurs(new URLSearchParams(params))) {
      await drop();
      return refusedPage();
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
