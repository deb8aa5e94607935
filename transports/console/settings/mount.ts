import type { Desk } from "#transports/console/desk.ts";
import { mountDesk } from "#transports/console/mount-desk.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { createKey, keysPage, revokeKey } from "./keys.ts";
import { limitsPage, saveLimits } from "./limits.ts";
import { removeLogo, replaceLogo } from "./logo.ts";
import { changeRole, invitePerson, peoplePage, removePerson, withdrawInvitation } from "./people.ts";
import { propertyPage, saveProperty } from "./property.ts";
import { addCap, addHours, capsPage, hoursPage, removeRule } from "./rules.ts";
import { PART, settingsPage } from "./settings.ts";
import { saveTheme, themePage } from "./theme.ts";

/** Mounts the pages of the settings. */
export function mountSettings(mounting: Mounting): void {
  const get = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "get", PART + path, work);
  const post = (path: string, work: (desk: Desk) => Promise<Response>) =>
    mountDesk(mounting, "post", PART + path, work);
  get("", settingsPage);
  get("/property", (desk) => propertyPage(desk));
  post("/property", saveProperty);
  get("/hours", (desk) => hoursPage(desk));
  post("/hours", addHours);
  post("/hours/:id/remove", (desk) => removeRule(desk, "hours"));
  get("/caps", (desk) => capsPage(desk));
  post("/caps", addCap);
  post("/caps/:id/remove", (desk) => removeRule(desk, "caps"));
  get("/theme", (desk) => themePage(desk));
  post("/theme", saveTheme);
  mountDesk(
    mounting,
    "post",
    `${PART}/theme/logo`,
    (desk) => replaceLogo(desk, (fault) => themePage(desk, undefined, fault)),
    { readsItself: true },
  );
  post("/theme/logo/remove", removeLogo);
  get("/keys", (desk) => keysPage(desk));
  post("/keys", createKey);
  post("/keys/:id/revoke", revokeKey);
  get("/limits", (desk) => limitsPage(desk));
  post("/limits", saveLimits);
  get("/people", (desk) => peoplePage(desk));
  post("/people", invitePerson);
  post("/people/:id/role", changeRole);
  post("/people/:id/remove", removePerson);
  post("/invitations/:id/withdraw", withdrawInvitation);
}
