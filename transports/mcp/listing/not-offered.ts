/** Requests that this service does not serve, each with the way to do it elsewhere. */
const NOT_OFFERED: readonly { asked: RegExp; answer: string }[] = [
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
    asked: /\b(?:direct mail|postcards?|printed? (?:letter|mailing)|by post|postal mail)\b/i,
    answer: "Printed mail is not offered. export_players gives the addresses to a printer.",
  },
  {
    asked:
      /\b(?:refunds?|payouts?|pay out|withdraw(?:al)? of money|charge (?:a|the|his|her) card|credit card|(?:add|give|transfer|book) points|points balance|wallet)\b/i,
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
      /\b(?:recall|call back|unsend|take back) (?:[\w-]+ ){0,3}(?:e-?mails?|messages?|texts?|campaigns?|newsletters?)\b/i,
    answer:
      "Sent messages cannot be called back. cancel_campaign stops those that wait; a correction is another campaign.",
  },
  {
    asked:
      /\b(?:cap|limit|bound|restrict|ceiling|maximum|budget)\b (?:[\w-]+ ){0,4}(?:spend(?:ing)?|costs?|money|budget|dollars|euros)\b|\b(?:spend(?:ing)?|costs?|budget) (?:cap|limit|ceiling)s?\b|\bset (?:[\w-]+ ){0,2}budget\b|\bspend (?:at most|no more than|up to)\b/i,
    answer:
      "A cap of spend is not offered. approval_over_cost of update_property has a person approve what costs more; inventory_total and per_player_limit bound a game's prizes, and a rate_limit node the players who pass in a journey.",
  },
  {
    asked:
      /\b(?:costs?|spend|spent|bill|pay|paid)\b(?: [\w-]+){0,6} (?:this|last|next|a|per|each|the) (?:day|week|month|quarter|year)s?\b|\b(?:monthly|weekly|yearly|total|overall|summed) (?:[\w-]+ ){0,2}(?:costs?|spend(?:ing)?|bill)\b/i,
    answer:
      "One sum of costs over campaigns or a month is not offered. campaign_stats has the cost of each campaign, and the vendor's bill the sum.",
  },
  {
    asked: /\b(?:undo|revert|reverse) (?:[\w-]+ ){0,3}erasures?\b/i,
    answer:
      "An erasure cannot be undone. restore_player brings back a player who was deleted within the last 30 days.",
  },
];

/** The sentence on a request that no tool does; null where it may be offered. */
export function notOffered(request: string): string | null {
  return NOT_OFFERED.find(({ asked }) => asked.test(request))?.answer ?? null;
}
