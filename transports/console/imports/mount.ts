import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { errorsFile, importFile, importPage } from "./job.ts";
import { importsPage, PART } from "./list.ts";
import { mappingPage, startDryRun } from "./mapping.ts";
import { receiveUpload, uploadPage } from "./upload.ts";

/** Mounts the pages of imports: the list, the upload, the columns of a file, and one import. */
export function mountImportPages(mounting: Mounting): void {
  const get = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "get", PART + path, work);
  get("", importsPage);
  get("/new", uploadPage);
  mountDesk(mounting, "post", `${PART}/new`, (desk) => receiveUpload(mounting, desk), { readsItself: true });
  get("/files/:upload", (desk) => mappingPage(desk));
  mountDesk(mounting, "post", `${PART}/files/:upload`, startDryRun);
  get("/:id", importPage);
  get("/:id/errors", errorsFile);
  mountDesk(mounting, "post", `${PART}/:id/import`, importFile);
}
