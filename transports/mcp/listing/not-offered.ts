interface Missing {
  asked: RegExp;
  /** Requests in the same words that are about something else, which a tool does. */
  unless?: RegExp;
  answer: string;
}

/** Players who are chosen by what they did. */
const WHO = /\b(?:players|guests|customers|members|patrons|people|everyone|those) (?:who|that|whose|with)\b/;

/** The money of players is not the casino's cost: segments, events and games go by it. */
const PLAYERS =
  /\b(?:players?|guests?|customers?|members?|patrons?|visitors?|gamblers?|spenders?|everyone|everybody|(?:those|people|winners?|vips?) (?:who|that|whose|with))\b/;

/** Requests that this service does not serve, each with the way to do it elsewhere. */
const NOT_OFFERED: readonly Missing[] = [
  {
    asked: /\b(?:whats ?app|telegram|rcs|messenger|viber|wechat|line app|imessage)\b/i,
    answer: "Messengers are not offered: messages go by email, SMS, web push and the branded inbox.",
  },
  {
    asked:
      /\b(?:facebook|instagram|google|tiktok|twitter|youtube|social media) (?:ads?|posts?|campaigns?)\b|\b(?:tweets?|retargeting|advertis\w+|post on (?:facebook|instagram|x))\b/i,
    answer:
      "Advertising and posts are not offered. create_share_link makes links that players share themselves.",
  },
  {
    asked: /\b(?:direct mail|postcards?|printed? (?:letter|mailing)|by post(?! ?codes?)|postal mail)\b/i,
    answer: "Printed mail is not offered. export_players gives the addresses to a printer.",
  },
  {
    asked:
      /\b(?:refunds?|payouts?|pay out|withdraw(?:al)? of money|charge (?:a|the|his|her) card|credit card|(?:add|give|transfer|book) points|points balance|wallet)\b/i,
    unless: new RegExp(
      `${WHO.source}|\\b(?:prizes?|events?|fields?|segments?|(?:e-?mails?|texts?|messages?) about)\\b`,
      "i",
    ),
    answer:
      "Money and points are not kept here: the casino's own system books them, and create_player_event records them.",
  },
  {
    asked:
      /\b(?:book|reserve) (?:a |the )?(?:room|table|hotel|seat|restaurant)|\b(?:hotel|table|room) (?:booking|reservation)s?\b/i,
    answer: "Bookings are not offered: link to the casino's own page in a message.",
  },
  {
    asked:
      /\b(?:(?:recall|call back|unsend|take back) (?:[\w-]+ ){0,3}(?:e-?mails?|messages?|texts?|campaigns?|newsletters?)|(?:undo|revert|reverse) (?:[\w-]+ ){0,3}send(?:ing)?)\b/i,
    // These can be taken back.
    unless:
      /\b(?:consents?|permissions?|suppress\w+|approv\w+|proposals?|schedul\w+|planned|drafts?|pauses?|settings?)\b/i,
    answer:
      "Sent messages cannot be called back. cancel_campaign stops those that wait; a correction is another campaign.",
  },
  {
    asked:
      /\b(?:move|copy|transfer|share|take) (?:[\w'’-]+ ){0,6}(?:to|with|over to|into) (?:an?other|the other|our other|a second) (?:property|casino|tenant)\b/i,
    answer:
      "Properties share nothing, and a consent holds for the casino that it was given to. The other property asks the player itself, and records the answer by consent_record with a key of its own.",
  },
  {
    asked:
      /\b(?:choose|pick|set|declare|force|name) (?:[\w/-]+ ){0,4}winn(?:er|ing)\b.*\b(?:by hand|manually|myself|ourselves|now)\b/i,
    unless: /\b(?:prizes?|odds|games?|wheels?|draw(?:s|ing)?|giveaways?|sweepstakes?|raffles?|contests?)\b/i,
    answer:
      "The winner of a test is chosen by its metric, at its end; fallback_variant_id wins a tie. To send another variant, cancel_campaign, then duplicate_campaign for those who wait.",
  },
  {
    asked: /\b(?:undo|revert|reverse|roll back|take back) (?:[\w-]+ ){0,3}imports?\b/i,
    answer:
      "An import cannot be undone as a whole. Its players have its id as import_job_id: list_players finds them, and delete_player takes one out.",
  },
  {
    asked:
      /\b(?:transfer|connect|hand over|pass) (?:[\w'’-]+ ){0,3}calls? to (?:[\w-]+ ){0,3}(?:humans?|persons?|people|somebody|someone|staff|hosts?|colleagues?|employees?|managers?|desk|call cent(?:er|re)|numbers?|us|me)\b/i,
    answer: "A call is not passed on to a person. Its script can name a number that people ring.",
  },
  {
    asked: /\bdouble[- ]opt[- ]?in\b/i,
    answer:
      "Mails that ask for a confirmation of a sign-up are not offered. Let your form's own mail ask, and call consent_record after the click; email_consent_mode opt_in sends to nobody without that record.",
  },
  {
    asked:
      /\b(?:cap|limit|bound|restrict|ceiling|maximum|budget)\b (?:[\w-]+ ){0,4}(?:spend(?:ing)?|costs?|money|budget|dollars|euros)\b|\b(?:spend(?:ing)?|costs?|budget) (?:cap|limit|ceiling)s?\b|\bset (?:[\w-]+ ){0,2}budget\b|\bspend (?:at most|no more than|up to)\b/i,
    unless: new RegExp(`${PLAYERS.source}|\\bapprov`, "i"),
    answer:
      "A cap of spend is not offered. approval_over_cost of update_property has a person approve what costs more; inventory_total and per_player_limit bound a game's prizes, and a rate_limit node the players who pass in a journey.",
  },
  {
    asked:
      /\b(?:costs?|(?:we|I) (?:spend|spent|pay|paid)|our (?:[\w-]+ )?(?:spend(?:ing)?|bill))\b(?: [\w-]+){0,6} (?:this|last|next|a|per|each|the) (?:day|week|month|quarter|year)s?\b|\b(?:monthly|weekly|yearly|total|overall|summed) (?:[\w-]+ ){0,2}(?:costs?|bill)\b/i,
    unless: new RegExp(
      `${PLAYERS.source}|\\b(?:each|every|per|one|the|which) (?:[\\w-]+ ){0,2}(?:campaign|journey)\\b`,
      "i",
    ),
    answer:
      "One sum of costs over campaigns or a month is not offered. preflight_campaign estimates a campaign's cost, campaign_stats has its cost so far, and the vendor's bill has the sum.",
  },
  {
    asked: /\b(?:undo|revert|reverse) (?:[\w-]+ ){0,3}erasures?\b/i,
    answer:
      "An erasure cannot be undone. restore_player brings back a player who was deleted within the last 30 days.",
  },
];

/** The sentence on a request that no tool does; null where it may be offered. */
export function notOffered(request: string): string | null {
  const found = NOT_OFFERED.find(({ asked, unless }) => asked.test(request) && !unless?.test(request));
  return found?.answer ?? null;
}
