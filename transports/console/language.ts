import { readForm } from "#transports/pages/frame/form.ts";
import type { Mounting } from "#transports/pages/player/visit.ts";
import { cookieIn, setCookie, YEAR_SECONDS } from "./cookies.ts";
import { isFromHere, ownPath } from "./guard.ts";
import { redirect, refusedPage } from "./signed-out.ts";
import { languageOf, speaking } from "./words/say.ts";

/** Gives each request its language: the person's own choice, then the browser's, then English. */
export function mountLanguage({ app, service }: Mounting): void {
  for (const path of ["/console/*", "/password-reset/*"]) {
    app.use(path, (c, next) => {
      const chosen = cookieIn(c, service, "console_language");
      return speaking(languageOf(chosen, c.req.header("accept-language")), next);
    });
  }
  app.post("/console/language", async (c) => {
    const form = await readForm(c);
    if (!isFromHere(c) || !form) return refusedPage(c);
    const chosen = languageOf(form.get("language"));
    return redirect(ownPath(form.get("to")), [setCookie(service, "console_language", chosen, YEAR_SECONDS)]);
  });
}
