/** A word of the field, and its meaning in a sentence. */
type Meant = readonly [word: string, meaning: string];
const meant = (word: string, meaning: string): Meant => [word, meaning];

/** Words of the field that explain themselves. */
export const terms = {
  adt: meant("ADT", "Average daily theoretical: the theoretical win of one day of play, on average."),
  theo: meant("theo", "Theoretical win: the money that the house expects to win from a player's bets."),
  theo_uplift: meant(
    "Theo uplift",
    "Theoretical win of the recipients, less that of as many players of the holdout.",
  ),
  holdout: meant("holdout", "A share of the audience, drawn by chance, that gets nothing, to compare with."),
  gate: meant(
    "gate",
    "The rules that every message passes: consent, suppression, self-exclusion, age, hours and caps.",
  ),
  human: meant(
    "by people",
    "Without the opens and clicks of privacy proxies, filters and scanners, which open mail by machine.",
  ),
  converted: meant("Converted", "Recipients who reached the campaign's goal in its time."),
  redeemed: meant("Redeemed", "Recipients who redeemed a prize or an offer of this campaign."),
  segment: meant("segment", "A saved audience: its rules are judged anew each time it is used."),
  suppression: meant(
    "suppression",
    "An address that gets nothing: it bounced, complained, or its owner said stop.",
  ),
  quiet_hours: meant(
    "quiet hours",
    "Hours of a place's law in which messages wait, by each player's own clock.",
  ),
  cap: meant("cap", "The most messages that one player gets in a time. The next message waits."),
  preheader: meant(
    "preheader",
    "The line that mail programs show beside the subject, before the mail is opened.",
  ),
  liquid: meant(
    "Liquid",
    'The language of fields in texts, such as {{ first_name | default: "friend" }}, filled in for each player.',
  ),
  dry_run: meant("dry run", "Reads and counts the whole file, and writes nothing."),
  consent: meant("consent", "A player's recorded permission for a channel, with its source, text and time."),
};
