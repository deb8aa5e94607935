import type { Channel } from "#tools/compliance/channels.ts";
import type { BlockReason } from "#tools/compliance/gate.ts";

/** Milliseconds since 1970. */
type Time = number;

export interface GateCase {
  timezone: string;
  minAge: number;
  emailConsentMode: "opt_in" | "opt_out";
  players: OraclePlayer[];
  ledger: {
    player: number;
    channel: Channel;
    given: boolean;
    written: boolean;
    occurred: Time;
    expires: Time | null;
  }[];
  suppressions: {
    /** The subject of the row: an address, or a player. */
    address: string | null;
    player: number | null;
    channel: Channel | "all";
    reason: string;
    expires: Time | null;
    lifted: boolean;
  }[];
  dnc: { phone: string; list: string; expires: Time | null }[];
  exclusions: { player: number | null; addresses: string[]; ends: Time | null }[];
}

export interface OraclePlayer {
  email: string | null;
  phone: string | null;
  status: string;
  emailStatus: string;
  /** YYYY-MM-DD */
  birthDate: string | null;
  deleted: boolean;
}

const ABOUT_THE_ADDRESS = ["hard_bounce", "soft_bounce_limit", "invalid"];

/** The gate once more, one player after another, in the words of the rules and without any SQL. */
export function reasonsFor(gateCase: GateCase, index: number, channel: Channel, at: Time): BlockReason[] {
  const player = gateCase.players[index]!;
  const reasons = new Set<BlockReason>();
  const byPhone = channel === "sms" || channel === "voice";
  const lasts = (end: Time | null) => end === null || end > at;
  const isTheirs = (address: string | null) =>
    address !== null && (address === player.email || address === player.phone);

  if (player.status === "banned") reasons.add("banned");
  if (player.status === "deceased") reasons.add("deceased");
  if (player.status === "vip_hold") reasons.add("vip_hold");
  if (player.status === "erased") reasons.add("erased");
  if (player.status === "self_excluded") reasons.add("self_excluded");
  if (player.deleted) reasons.add("deleted");

  for (const one of gateCase.exclusions) {
    if (!lasts(one.ends)) continue;
    if (one.player === index || one.addresses.some(isTheirs)) reasons.add("self_excluded");
  }
  for (const one of gateCase.suppressions) {
    if (one.lifted || !lasts(one.expires)) continue;
    const byAddress = isTheirs(one.address);
    if (one.reason === "erased" && byAddress) reasons.add("erased");
    const byPlayer = one.player === index && !ABOUT_THE_ADDRESS.includes(one.reason);
    const here = one.channel === "all" || one.channel === channel;
    if (one.reason === "needs_review") {
      if (here && byPhone && one.address !== null && one.address === player.phone)
        reasons.add("needs_review");
      continue;
    }
    if (here && ((byAddress && one.reason !== "erased") || byPlayer)) reasons.add("suppressed");
  }
  for (const one of gateCase.dnc) {
    if (one.phone !== player.phone || !lasts(one.expires)) continue;
    if (one.list !== "reassigned") reasons.add("dnc");
    else if (byPhone) reasons.add("reassigned_number");
  }
  if (byPhone) {
    if (player.phone === null) reasons.add("invalid_address");
  }
  // No player of the oracle has subscribed a browser.
  if (channel === "push") reasons.add("invalid_address");
  if (channel === "email" && (player.email === null || player.emailStatus === "undeliverable")) {
    reasons.add("invalid_address");
  }

  const last = wordInForce(gateCase, index, channel);
  const assumed = channel === "email" && gateCase.emailConsentMode === "opt_out";
  if (last ? !last.given : !assumed) reasons.add("no_consent");
  // A call needs more than a word.
  if (channel === "voice" && !last?.written) reasons.add("no_consent");
  if (last?.given && last.expires !== null && last.expires <= at)
    reasons.add("consent_expired").add("no_consent");

  if (player.birthDate !== null && ageOn(at, gateCase.timezone, player.birthDate) < gateCase.minAge)
    reasons.add("underage");
  const sharers = holdersOf(gateCase, channel, addressOn(channel, player));
  if (!barsFor(gateCase, index, channel) && sharers.some((other) => barsFor(gateCase, other, channel)))
    reasons.add("shared_address");
  return [...reasons].sort();
}

/** Whether a campaign of the channel would reach the address: by one of those who have it. */
export function mayReach(gateCase: GateCase, channel: Channel, address: string, at: Time): boolean {
  return holdersOf(gateCase, channel, address).some(
    (index) => reasonsFor(gateCase, index, channel, at).length === 0,
  );
}

export function addressOn(channel: Channel, { email, phone }: OraclePlayer): string | null {
  if (channel === "push") return null;
  return channel === "email" ? email : phone;
}

function holdersOf(gateCase: GateCase, channel: Channel, address: string | null): number[] {
  if (address === null) return [];
  return gateCase.players.flatMap((one, index) =>
    !one.deleted && addressOn(channel, one) === address ? [index] : [],
  );
}

/** One who may not be written to at all, or has refused, bars what they share with others. */
function barsFor(gateCase: GateCase, index: number, channel: Channel): boolean {
  const { status, deleted, emailStatus } = gateCase.players[index]!;
  if (deleted) return false;
  if (!["active", "inactive"].includes(status)) return true;
  if (channel === "email" && emailStatus === "undeliverable") return true;
  return wordInForce(gateCase, index, channel)?.given === false;
}

/** Act by act: a refusal ends every consent, and a plain consent to calls leaves a written one as it is. */
function wordInForce(gateCase: GateCase, index: number, channel: Channel) {
  let word: GateCase["ledger"][number] | undefined;
  const acts = gateCase.ledger.filter((act) => act.player === index && act.channel === channel);
  for (const act of acts.toSorted((a, b) => a.occurred - b.occurred)) {
    const isWeaker = channel === "voice" && act.given && !act.written;
    if (word?.given && word.written && isWeaker) continue;
    word = act;
  }
  return word;
}

/** Whole years; who is born on a 29 February is a year older on 1 March in years that have none. */
function ageOn(at: Time, timezone: string, birthDate: string): number {
  const today = new Intl.DateTimeFormat("en-CA", { timeZone: timezone }).format(at);
  const [year, month, day] = today.split("-").map(Number) as [number, number, number];
  const [bornYear, bornMonth, bornDay] = birthDate.split("-").map(Number) as [number, number, number];
  const hadBirthday = month > bornMonth || (month === bornMonth && day >= bornDay);
  return year - bornYear - (hadBirthday ? 0 : 1);
}
