// What the views share. A view is plain text to HTML: no network, no state.
const SIGNS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** A text inside of HTML. All values pass here. */
export const text = (value) => String(value ?? "").replace(/[&<>"']/g, (sign) => SIGNS[sign]);

export const count = (value) => Number(value ?? 0).toLocaleString("en-US");

/** A name of ours as people read it. */
export function words(name) {
  const plain = String(name).replaceAll("_", " ");
  return text(plain.charAt(0).toUpperCase() + plain.slice(1));
}

export function figures(pairs) {
  const boxes = pairs.map(([name, value]) => `<div><dt>${words(name)}</dt><dd>${text(value)}</dd></div>`);
  return `<dl class="figures">${boxes.join("")}</dl>`;
}

/** A table. The cells are HTML already; cells after the first are numbers where `numbers` says so. */
export function table(caption, head, rows, numbers = true) {
  if (rows.length === 0) return "";
  const kind = numbers ? ' class="number"' : "";
  const line = ([first, ...rest]) =>
    `<tr><th scope="row">${first}</th>${rest.map((cell) => `<td${kind}>${cell}</td>`).join("")}</tr>`;
  const heads = head.map((name) => `<th scope="col">${text(name)}</th>`).join("");
  return `<h2>${text(caption)}</h2><div class="wide" role="region" tabindex="0" aria-label="${text(caption)}"><table><thead><tr>${heads}</tr></thead><tbody>${rows.map(line).join("")}</tbody></table></div>`;
}

/** A bar for each count, with the number beside it. */
export function bars(caption, counts, whole) {
  const rows = counts
    .filter(([, value]) => value > 0)
    .map(([name, value]) => {
      const share = whole > 0 ? (100 * value) / whole : 0;
      const bar = `<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width="${share.toFixed(2)}" height="10"/></svg>`;
      return [words(name), count(value), `${share.toFixed(1)} %`, bar];
    });
  return table(caption, ["Group", "Number", "Share", "Chart"], rows);
}

/** Counts by their names, the largest first. */
export const sorted = (counts) => Object.entries(counts ?? {}).sort(([, one], [, other]) => other - one);

export const list = (items) =>
  items?.length > 0 ? `<ul>${items.map((item) => `<li>${text(item)}</li>`).join("")}</ul>` : "";

/** An amount of money; "not known" without one. */
export function money(cost) {
  if (!cost) return "nothing";
  if (cost.amount === null) return "not known";
  return cost.currency === null ? "nothing" : `${cost.amount.toLocaleString("en-US")} ${cost.currency}`;
}
