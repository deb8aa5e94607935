import { html } from "hono/html";
import { Fault, invalid } from "#runtime/faults.ts";
import { LOGO_KINDS, logoOf, MOST_LOGO_BYTES } from "#tools/themes/logo/logo.ts";
import { type Theme, themePaths } from "#tools/themes/theme.ts";
import type { Desk } from "#transports/console/desk.ts";
import { actButton, tried } from "#transports/console/fields.ts";
import { redirect } from "#transports/console/signed-out.ts";
import { say } from "#transports/console/words/say.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { checkDeclared, receiveParts } from "#transports/rest/upload-body.ts";
import { PART } from "./settings.ts";

const ACTION = `${PART}/theme/logo`;

/** The logo as it is, and the form that replaces it. */
export function logoSection(desk: Desk, theme: Theme, fault?: Fault): Html {
  const { logo } = themePaths(desk.property.id, theme);
  const now = logo
    ? html`<p><img class="logo" src="${logo}" alt="${say().settings.logoOf(desk.property.name)}" height="40"></p>`
    : html`<p class="soft">${say().settings.thereIsNoneYet}</p>`;
  if (!desk.canWrite) return html`<h2>${say().settings.logo}</h2>${now}`;
  const wrong = fault ? html`<p class="wrong" role="alert">${fault.message}</p>` : "";
  const remove = logo
    ? actButton(desk, `${ACTION}/remove`, say().settings.removeTheLogo, "plain-button")
    : "";
  return html`<h2>${say().settings.logo}</h2>${now}${wrong}<form class="form narrow" method="post" action="${ACTION}" enctype="multipart/form-data"><input type="hidden" name="params" value="token=${desk.token}"><div class="field"><label for="file">${say().journeys.picture}</label><input id="file" name="file" type="file" accept="image/png,image/jpeg,image/webp" required aria-describedby="file-hint"><p class="hint" id="file-hint">${say().settings.pngJpegOrWebpFile}</p></div><div class="acts"><button>${say().settings.replaceTheLogo}</button></div></form>${remove}`;
}

/** Takes the file, if a page of ours has sent it, and makes it the logo. */
export async function replaceLogo(desk: Desk, again: (fault: Fault) => Promise<Response>): Promise<Response> {
  const { incoming } = desk.c.env;
  checkDeclared(incoming);
  const { bytes, params } = await readLogo(incoming);
  const refused = await desk.refusal(new URLSearchParams(params));
  if (refused) return refused;
  return tried(async () => {
    if (bytes === null) throw tooLarge();
    const logo = logoOf(bytes);
    if (logo === null) throw invalid("logo", `must be ${LOGO_KINDS}`);
    await desk.run("set_property_theme", { logo });
    return redirect(`${PART}/theme`);
  }, again);
}

export async function removeLogo(desk: Desk): Promise<Response> {
  await desk.run("set_property_theme", { logo: null });
  return redirect(`${PART}/theme`);
}

/** The file, or null for one that is too large, and the other fields. */
async function readLogo(
  incoming: Desk["c"]["env"]["incoming"],
): Promise<{ bytes: Buffer | null; params: string }> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const params = await receiveParts(incoming, async (file) => {
    for await (const part of file) {
      size += part.length;
      if (size <= MOST_LOGO_BYTES) parts.push(part);
    }
  });
  return { bytes: size <= MOST_LOGO_BYTES ? Buffer.concat(parts) : null, params };
}

function tooLarge(): Fault {
  const message = "The file is larger than 32 kB. Save it smaller: 80 pixels high are enough.";
  return new Fault("too_large", { message });
}
