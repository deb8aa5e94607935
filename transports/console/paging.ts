import { html } from "hono/html";
import type { HttpContext } from "#transports/http/handlers.ts";
import type { Html } from "#transports/pages/frame/page.ts";
import { words } from "./values.ts";
import { say } from "./words/say.ts";

/** The link to the next page of a list, with the filters of this one. */
export function onward(c: HttpContext, next: string | undefined): Html | "" {
  const isFirst = !c.req.query("cursor");
  if (next === undefined && isFirst) return "";
  const to = (cursor: string | null): string => {
    const { pathname, searchParams } = new URL(c.req.url);
    searchParams.delete("cursor");
    if (cursor !== null) searchParams.set("cursor", cursor);
    return `${pathname}?${searchParams}`;
  };
  return html`<nav class="onward" aria-label="${say().general.pages}">${isFirst ? "" : html`<a href="${to(null)}">${say().general.firstPage}</a>`}${next === undefined ? "" : html`<a href="${to(next)}">${say().general.nextPage}</a>`}</nav>`;
}

/** The form that finds records by a part of their names. Other filters of the list stay. */
export function nameSearch(
  path: string,
  wanted: string,
  others: Readonly<Record<string, string>> = {},
): Html {
  const kept = Object.entries(others).filter(([, value]) => value !== "");
  return html`<form class="search" method="get" action="${path}" role="search">${kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}<label for="q">${say().general.name}</label><input id="q" name="q" type="search" maxlength="200" value="${wanted}"><button class="quiet small">${say().players.find}</button></form>`;
}

/** The filter of a list by a part of the name, in which % and _ stand for themselves. */
export function byName(wanted: string): Record<string, string> {
  return wanted === "" ? {} : { "name.ilike": `%${wanted.replace(/[\\%_]/g, "\\$&")}%` };
}

/** Where no record has such a name. */
export function noneNamed(path: string, wanted: string): Html {
  return html`<p>${say().general.nothingIsNamed(wanted)} <a href="${path}">${say().general.seeAll}</a></p>`;
}

/** Links that narrow a list to one value of a column. */
export function filtersOf(path: string, name: string, chosen: string, values: readonly string[]): Html {
  const link = (value: string) =>
    html`<li><a href="${value === "" ? path : `${path}?${name}=${value}`}"${value === chosen ? html` aria-current="true"` : ""}>${value === "" ? say().general.all : words(value)}</a></li>`;
  return html`<ul class="filters" aria-label="${words(name)}">${["", ...values].map(link)}</ul>`;
}
