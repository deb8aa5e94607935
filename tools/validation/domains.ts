/** Domains with free mailboxes for everybody, and the right names for their frequent misspellings. */
export const FREE_DOMAINS: ReadonlySet<string> = new Set([
  ...["gmail.com", "googlemail.com", "yahoo.com", "ymail.com", "rocketmail.com", "yahoo.co.uk", "yahoo.ca"],
  ...["yahoo.fr", "yahoo.de", "yahoo.es", "yahoo.it", "yahoo.com.mx", "yahoo.com.br", "yahoo.co.jp"],
  ...["hotmail.com", "hotmail.co.uk", "hotmail.fr", "hotmail.de", "hotmail.es", "hotmail.it", "outlook.com"],
  ...["outlook.fr", "outlook.de", "outlook.es", "live.com", "live.co.uk", "live.ca", "msn.com", "icloud.com"],
  ...["me.com", "mac.com", "aol.com", "aim.com", "proton.me", "protonmail.com", "pm.me", "gmx.com", "gmx.de"],
  ...["gmx.net", "gmx.at", "web.de", "mail.com", "mail.ru", "yandex.ru", "yandex.com", "zoho.com", "qq.com"],
  ...["163.com", "126.com", "naver.com", "orange.fr", "free.fr", "laposte.net", "libero.it", "t-online.de"],
  ...["comcast.net", "verizon.net", "att.net", "sbcglobal.net", "bellsouth.net", "cox.net", "charter.net"],
  ...["earthlink.net", "juno.com", "fastmail.com", "hey.com", "tutanota.com", "inbox.com", "rediffmail.com"],
]);

/** Mailboxes of a role, not of a person (RFC 2142, and other usual ones). */
export const ROLES: ReadonlySet<string> = new Set([
  ...["abuse", "accounting", "accounts", "admin", "administrator", "billing", "careers", "compliance"],
  ...["contact", "customerservice", "dev", "devnull", "enquiries", "events", "feedback", "finance", "ftp"],
  ...["help", "helpdesk", "hello", "hostmaster", "hr", "info", "inquiries", "it", "jobs", "legal", "list"],
  ...["mail", "mailer-daemon", "marketing", "media", "news", "newsletter", "no-reply", "noc", "noreply"],
  ...["office", "orders", "payroll", "postmaster", "press", "privacy", "recruiting", "reservations", "root"],
  ...["sales", "security", "service", "spam", "staff", "subscribe", "support", "team", "test", "unsubscribe"],
  ...["usenet", "uucp", "webmaster", "www"],
]);

const KNOWN = [...FREE_DOMAINS];

/** The well-known domain that differs from this one by one typing error; null without one, or with several. */
export function suggestion(domain: string): string | null {
  if (FREE_DOMAINS.has(domain)) return null;
  const near = KNOWN.filter((known) => isOneSlip(domain, known));
  return near.length === 1 ? near[0]! : null;
}

/** Whether one added, removed, changed or swapped letter turns one text into the other. */
function isOneSlip(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  if (restA.length > restB.length) return restA.slice(1) === restB;
  if (restA.length < restB.length) return restA === restB.slice(1);
  if (restA.slice(1) === restB.slice(1)) return true;
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2);
}
