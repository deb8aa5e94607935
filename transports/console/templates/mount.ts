import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import { framed } from "#transports/console/preview/message.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import {
  createTemplate,
  deleteTemplate,
  newTemplatePage,
  PART,
  saveTemplate,
  templatePage,
  templatesPage,
} from "./templates.ts";

/** Mounts the pages of templates. */
export function mountTemplates(mounting: Mounting): void {
  const get = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "get", PART + path, work);
  const post = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "post", PART + path, work);
  get("", templatesPage);
  get("/new", (desk) => newTemplatePage(desk, { values: { channel: "email" } }));
  post("/new", createTemplate);
  get("/:id", (desk) => templatePage(desk));
  post("/:id", saveTemplate);
  get("/:id/message", async (desk) => {
    const { html } = await desk.run("get_template", { id: desk.c.req.param("id") });
    return framed(String(html ?? ""));
  });
  post("/:id/delete", deleteTemplate);
}
