import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { enrollmentPage } from "./enrollment.ts";
import { actOnJourney, journeyPage, journeyPicture } from "./journey.ts";
import { journeysPage, PART } from "./list.ts";
import { nodePage } from "./node.ts";
import { publishJourney } from "./publish.ts";
import { createJourney, recipesPage } from "./recipes.ts";
import { simulatePage } from "./simulate.ts";

/** Mounts the pages of journeys: the list, a new one, one with its picture and nodes, and its simulation. */
export function mountJourneys(mounting: Mounting): void {
  const get = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "get", PART + path, work);
  const post = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "post", PART + path, work);
  get("", journeysPage);
  get("/new", (desk) => recipesPage(desk));
  post("/new", createJourney);
  get("/:id", journeyPage);
  get("/:id/picture", journeyPicture);
  get("/:id/nodes/:node", nodePage);
  get("/:id/enrollments/:enrollment", enrollmentPage);
  get("/:id/simulate", simulatePage);
  post("/:id/publish", publishJourney);
  for (const act of ["pause", "resume", "archive"] as const) {
    post(`/:id/${act}`, (desk) => actOnJourney(desk, act));
  }
}
