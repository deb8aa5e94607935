import { counted } from "#runtime/counted.ts";
import * as rows from "./rows.ts";

/** A control: the law that asks for it, and all that an officer needs to judge it. */
export interface Control {
  name: string;
  law: string;
  rule: string;
  /** Our own files. */
  enforced: readonly string[];
  tested: readonly string[];
  rows: readonly rows.RowsOf[];
}

const GATE = "tools/compliance/gate.ts";

/** Counsel must confirm each law for the property's own places. A test checks that the named files exist. */
export const CONTROLS: readonly Control[] = [
  {
    name: "consent",
    law: "47 CFR 64.1200(a) (TCPA); GDPR Art. 6 and 7",
    rule: "Marketing goes only to players with a recorded consent for the channel, and not after it has expired.",
    enforced: [GATE, "tools/consent/consent-record.ts", "tools/consent/expire-consents.job.ts"],
    tested: ["tests/tools/compliance/gate.test.ts", "tests/tools/consent/consent-record.test.ts"],
    rows: [
      rows.settingsBy(({ email_consent_mode: mode }) => [
        mode === "opt_in" ? "Email: only with a consent." : "Email: all players who have not refused.",
      ]),
      rows.countRows("consent_records"),
    ],
  },
  {
    name: "revocation",
    law: "47 CFR 64.1200(a)(10) and (12)",
    rule: "A player takes consent back in any reasonable way; a text with a stop word counts at once, and is confirmed once.",
    enforced: ["tools/sms/inbound.ts", "tools/consent/consent-revoke.ts"],
    tested: ["tests/tools/sms/keywords.test.ts", "tests/tools/consent/consent-revoke.test.ts"],
    rows: [
      rows.settingsBy(({ revocation_scope: scope }) => [
        scope === "channel" ? "Revoking revokes that channel." : "Revoking text or voice revokes both.",
      ]),
      rows.keywords,
    ],
  },
  {
    name: "unsubscribe",
    law: "15 U.S.C. 7704(a)(3) and (4) (CAN-SPAM); RFC 8058",
    rule: "Every marketing email can be unsubscribed with one click, and a suppressed address gets nothing more.",
    enforced: [GATE, "tools/preferences/unsubscribe.ts"],
    tested: ["tests/tools/preferences/preferences.test.ts", "tests/tools/compliance/lists.test.ts"],
    rows: [rows.countRows("suppressions")],
  },
  {
    name: "sender",
    law: "15 U.S.C. 7704(a)(5) (CAN-SPAM)",
    rule: "Every marketing email shows the legal sender and a physical address.",
    enforced: ["tools/campaigns/preflight/readiness.ts"],
    tested: ["tests/tools/campaigns/send-campaign.test.ts"],
    rows: [
      rows.settingsBy(({ legal_name, postal_address }) => [
        `Sender: ${legal_name ?? "not set, so no marketing email goes"}.`,
        `Address: ${postal_address ?? "not set, so no marketing email goes"}.`,
      ]),
    ],
  },
  {
    name: "quiet_hours",
    law: "47 CFR 64.1200(c)(1); state laws, as each row names them",
    rule: "Players get texts and calls only at the open hours of every place where they may be.",
    enforced: ["tools/compliance/hours.ts"],
    tested: ["tests/tools/compliance/hours.test.ts"],
    rows: [rows.quietHours],
  },
  {
    name: "frequency",
    law: "State laws, as each row names them; the property's own policy",
    rule: "A player gets at most so many messages in a window of time.",
    enforced: ["tools/compliance/frequency.ts"],
    tested: ["tests/tools/compliance/frequency.test.ts"],
    rows: [rows.frequencyCaps],
  },
  {
    name: "do_not_call",
    law: "47 CFR 64.1200(c)(2) and (d)",
    rule: "A number on a do-not-call list gets no marketing, on any channel of its player.",
    enforced: [GATE, "tools/compliance/dnc-entries.table.ts"],
    tested: ["tests/tools/compliance/dnc-entries.test.ts"],
    rows: [rows.countRows("dnc_entries")],
  },
  {
    name: "self_exclusion",
    law: "The self-exclusion program of each jurisdiction, as each entry names it",
    rule: "A self-excluded person gets no marketing and plays no game, under any record and any address.",
    enforced: [GATE, "tools/compliance/self-exclusion.ts"],
    tested: ["tests/tools/compliance/self-exclusion-races.test.ts", "tests/tools/games/barred.test.ts"],
    rows: [rows.countRows("self_exclusions")],
  },
  {
    name: "age",
    law: "The gambling age of the property's jurisdiction",
    rule: "Younger players get no marketing and play no game.",
    enforced: [GATE],
    tested: ["tests/tools/compliance/gate.test.ts", "tests/tools/games/barred.test.ts"],
    rows: [rows.settingsBy(({ min_age }) => [`At least ${min_age} years.`])],
  },
  {
    name: "games",
    law: "State and federal law of sweepstakes and prizes, as each row names it",
    rule: "A game that costs needs a free way in; large totals are registered; large prizes wait for a tax form.",
    enforced: ["tools/games/law/law.ts", "tools/games/lifecycle/activate-game.ts"],
    tested: ["tests/tools/games/claims.test.ts", "tests/tools/games/play-game.test.ts"],
    rows: [rows.gameLaws],
  },
  {
    name: "privacy_requests",
    law: "GDPR Art. 12(3), 15 and 17; Cal. Civ. Code 1798.105 and 1798.130 (CCPA)",
    rule: "A person gets their data, and has it erased from every table, within the deadline.",
    enforced: ["tools/privacy/data-export.ts", "tools/privacy/data-deletion.ts"],
    tested: ["tests/tools/privacy/erasure.test.ts", "tests/tools/privacy/canary.test.ts"],
    rows: [rows.deadlines],
  },
  {
    name: "retention",
    law: "GDPR Art. 5(1)(e) and 17(3)",
    rule: "Of an erased person only the records with a legal basis stay, and those without the person.",
    enforced: [
      "tools/privacy/erase.ts",
      "tools/platform/forget-expired.job.ts",
      "tools/platform/keep-months.job.ts",
    ],
    tested: ["tests/tools/privacy/erasure.test.ts", "tests/tools/platform/keep-months.test.ts"],
    rows: [rows.kept],
  },
  {
    name: "proof",
    law: "GDPR Art. 5(2) and 7(1)",
    rule: "The consent ledger and the audit log only grow, and their seals show any change.",
    enforced: ["tools/ledgers/seal-ledgers.job.ts", "tools/ledgers/verify-ledger.ts"],
    tested: ["tests/tools/ledgers/ledgers.test.ts"],
    rows: [rows.ledgerSeals],
  },
  {
    name: "human_approval",
    law: "The property's own policy",
    rule: "Above the property's limits a person approves what keys and agents do.",
    enforced: ["runtime/funnel/review.ts", "tools/approvals/approve-proposal.ts"],
    tested: ["tests/tools/approvals/approvals.test.ts", "tests/tools/approvals/adversary.test.ts"],
    rows: [
      rows.settingsBy(({ approval_over_players, approval_over_cost, approval_four_eyes }) => [
        approval_over_players === null
          ? "No limit of players."
          : `Above ${counted(approval_over_players, "player")} in 24 hours.`,
        approval_over_cost === null
          ? "No limit of cost."
          : `Above a cost of ${approval_over_cost} in 24 hours.`,
        `Four eyes: ${approval_four_eyes}.`,
      ]),
    ],
  },
];
