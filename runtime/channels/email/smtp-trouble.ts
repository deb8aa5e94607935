import type { SendOutcome } from "../provider/channel.ts";

/** nodemailer's error about a message that did not pass. */
export interface SmtpError {
  code?: string;
  responseCode?: number;
  /** The system call that failed. */
  syscall?: string;
  message: string;
}

type Unsent = Exclude<SendOutcome, { status: "sent" }>;

// RFC 4954 section 6: authentication required, mechanism too weak, credentials refused, encryption required.
const AUTH_REPLIES = new Set([530, 534, 535, 538]);
const AUTH_CODES = new Set(["EAUTH", "ENOAUTH", "EOAUTH2"]);
const MESSAGE_CODES = new Set(["EENVELOPE", "EMESSAGE"]);

/**
 * The outcome of a message that did not pass. `bodyStarted`: the server had said 354, and at least one byte of the
 * body was on its way. From then on only the server's reply to that body is conclusive.
 */
export function troubleOf(id: string, error: SmtpError, bodyStarted: boolean): Unsent {
  const trouble = { id, code: codeOf(error), message: error.message };
  if (bodyStarted) return afterBody(trouble, error);
  if (isAuth(error)) return { ...trouble, status: "retry", code: "provider_auth", fatal: true };
  // A refused greeting or a lost connection says nothing about this message.
  const aboutMessage = MESSAGE_CODES.has(error.code ?? "");
  const final = aboutMessage && (error.responseCode === undefined || isPermanent(error.responseCode));
  if (error.syscall === "connect" || error.code === "EDNS")
    return { ...trouble, status: "retry", busy: true };
  return { ...trouble, status: final ? "failed" : "retry" };
}

function afterBody(trouble: { id: string; code: string; message: string }, error: SmtpError): Unsent {
  const reply = error.code === "EMESSAGE" ? (error.responseCode ?? 0) : 0;
  if (reply < 400) return { ...trouble, status: "unknown" };
  return { ...trouble, status: isPermanent(reply) ? "failed" : "retry" };
}

function isAuth({ code, responseCode }: SmtpError): boolean {
  if (AUTH_REPLIES.has(responseCode ?? 0)) return true;
  // 454 is a temporary failure of the server's own password check.
  return AUTH_CODES.has(code ?? "") && (responseCode === undefined || responseCode >= 500);
}

/** 503 is a fault of the session, not of the message. */
function isPermanent(reply: number): boolean {
  return reply >= 500 && reply !== 503;
}

function codeOf({ code, responseCode }: SmtpError): string {
  if (responseCode !== undefined) return `smtp_${responseCode}`;
  return `smtp_${code?.toLowerCase() ?? "error"}`;
}
