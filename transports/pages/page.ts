/** Text that is safe inside HTML and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5a6472;--paper:#fff;--ground:#f3f1ec;--line:#e3dfd6;--mark:#7a1f2b;--on-mark:#fff;--good:#2f6b3f}
@media(prefers-color-scheme:dark){:root{--ink:#eceae6;--soft:#a9adb5;--paper:#1d2025;--ground:#131519;--line:#31353c;--mark:#d9707d;--on-mark:#1b1013;--good:#7fbf8f}}
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;padding:24px;background:var(--ground);color:var(--ink);font:17px/1.55 ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:480px;background:var(--paper);border:1px solid var(--line);border-top:4px solid var(--mark);border-radius:12px;padding:36px 32px;box-shadow:0 8px 30px rgb(0 0 0/.06)}
.from{margin:0 0 20px;color:var(--soft);font-size:14px;letter-spacing:.04em;text-transform:uppercase}
a{color:var(--mark)}h1{margin:0 0 12px;font-size:26px;line-height:1.2;letter-spacing:-.01em}p{margin:0 0 16px}
.soft{color:var(--soft);font-size:15px}
label{display:block;margin-bottom:6px;font-size:15px;font-weight:600}
input{width:100%;margin-bottom:12px;padding:12px 14px;border:1px solid var(--line);border-radius:8px;background:var(--ground);color:var(--ink);font:inherit}
input:focus-visible{outline:3px solid var(--mark);outline-offset:1px}
.wrong{padding:12px 14px;border-left:4px solid var(--mark);background:var(--ground);border-radius:0 8px 8px 0;font-size:15px}
a{color:var(--mark)}
button{appearance:none;width:100%;margin-top:8px;padding:13px 18px;border:0;border-radius:8px;background:var(--mark);color:var(--on-mark);font:inherit;font-weight:600;cursor:pointer}
button:hover{filter:brightness(1.08)}button:focus-visible{outline:3px solid var(--ink);outline-offset:2px}
.said{padding:12px 14px;border-left:4px solid var(--good);background:var(--ground);border-radius:0 8px 8px 0;font-size:15px}
fieldset{margin:0 0 8px;padding:0;border:0}.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.choice{display:grid;grid-template-columns:auto 1fr;column-gap:14px;align-items:center;padding:14px 0;border-top:1px solid var(--line)}
.choice label{margin:0;font-size:17px;cursor:pointer}.choice p{grid-column:2;margin:2px 0 0}
input[type=checkbox]{width:22px;height:22px;margin:0;padding:0;accent-color:var(--mark);cursor:pointer}input[type=checkbox]:disabled,input:disabled+label{cursor:default;opacity:.6}
.quiet{background:none;border:1px solid var(--line);color:var(--ink)}
footer{margin-top:28px;padding-top:16px;border-top:1px solid var(--line);color:var(--soft);font-size:13px;white-space:pre-line}
`;

// For the guides: lines of 80 letters beside the list of all guides.
const WIDE = `
body{display:block;padding:0}main{max-width:1180px;margin:0 auto;min-height:100vh;display:flex;gap:48px;align-items:flex-start;border-width:4px 1px 0;border-radius:0;box-shadow:none}
nav{flex:0 0 200px;position:sticky;top:24px;display:flex;flex-direction:column;gap:2px;font-size:15px}
nav a{padding:4px 10px;border-left:3px solid transparent;color:var(--soft);text-decoration:none}nav a:hover{color:var(--mark)}
nav a[aria-current]{border-color:var(--mark);color:var(--ink);font-weight:600}
article{flex:1;min-width:0;max-width:46rem}article h1{font-size:32px}h2{margin:40px 0 12px;font-size:22px;line-height:1.25}h3{margin:28px 0 8px;font-size:18px}
li{margin-bottom:6px}.all{max-width:none}.guides{display:grid;grid-template-columns:repeat(auto-fill,minmax(280px,1fr));gap:0 40px;margin:0;padding:0;list-style:none}.guides li{margin:0;padding:12px 0;border-top:1px solid var(--line)}
code{padding:1px 5px;border-radius:5px;background:var(--ground);font:.87em ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
pre{margin:0 0 20px;padding:14px 16px;border:1px solid var(--line);border-radius:8px;background:var(--ground);overflow-x:auto}pre code{padding:0;background:none;overflow-wrap:normal}
.table{margin:0 0 20px;overflow-x:auto}table{border-collapse:collapse;font-size:15px}th,td{padding:7px 12px 7px 0;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}td code{overflow-wrap:normal}
@media(max-width:860px){main{flex-direction:column;align-items:stretch;gap:24px;padding:24px 18px}nav{position:static;flex:none;flex-flow:row wrap}}
`;

/** A page for one decision. `body` is our own HTML: the caller has escaped every value from outside. */
export function page(
  title: string,
  body: string,
  status = 200,
  extra: Record<string, string> = {},
): Response {
  return htmlPage({ title, body, style: STYLE, status, extra });
}

/** A wide page to read. */
export function widePage(title: string, body: string): Response {
  return htmlPage({ title, body, style: STYLE + WIDE, status: 200, extra: { "cache-control": "no-cache" } });
}

function htmlPage(options: {
  title: string;
  body: string;
  style: string;
  status: number;
  extra: Record<string, string>;
}): Response {
  const { title, body, style, status, extra } = options;
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex"><title>${escapeHtml(title)}</title><style>${style}</style></head><body><main>${body}</main></body></html>`;
  return new Response(html, {
    status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy":
        "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      ...extra,
    },
  });
}
