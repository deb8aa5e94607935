import type { Operation } from "#runtime/operation/operation.ts";
import type { Verb } from "#runtime/operation/table.ts";

/** People's names for a record, by its table. */
const NOUNS: Readonly<Record<string, readonly string[]>> = {
  players: ["guest", "customer", "member", "patron"],
  custom_fields: ["field", "attribute", "column"],
  player_events: ["visit", "activity", "deposit", "note"],
  segments: ["audience", "group", "target group"],
  segment_members: ["member of a segment", "person in a group"],
  campaigns: ["mailing", "newsletter", "promotion", "blast"],
  campaign_sends: ["delivery", "single message", "recipient"],
  templates: ["design", "layout"],
  journeys: ["automation", "flow", "series"],
  journey_enrollments: ["person in a journey", "guest from the journey"],
  games: ["contest", "wheel", "scratch card"],
  game_prizes: ["prize"],
  game_plays: ["win", "winner", "play"],
  game_tickets: ["ticket", "free spin"],
  code_pools: ["coupon codes", "voucher codes"],
  suppressions: ["block", "blocked address"],
  dnc_entries: ["do not call number", "number that must not be called"],
  self_exclusions: ["excluded from gambling", "self excluded guest"],
  consent_records: ["consent", "opt in"],
  frequency_rules: ["cap", "limit of messages"],
  quiet_hours_rules: ["quiet hours", "sending hours"],
  message_providers: ["provider", "mail server", "gateway", "sender"],
  inbound_messages: ["reply", "incoming text", "incoming SMS"],
  sms_keywords: ["keyword", "automatic reply"],
  inbox_messages: ["inbox message"],
  mailbox_messages: ["sent mail", "outgoing mail"],
  push_subscriptions: ["browser", "push subscription"],
  webhook_endpoints: ["webhook", "callback"],
  webhook_deliveries: ["callback that was sent", "webhook call"],
  import_jobs: ["import", "upload"],
  validation_jobs: ["address check", "validation"],
  privacy_requests: ["privacy request", "GDPR request"],
  audit_logs: ["audit", "trail"],
  voice_calls: ["call", "transcript"],
  voice_laws: ["law on calls", "state law on telephone calls"],
  game_laws: ["law on games", "sweepstakes law"],
  journey_versions: ["earlier version of a journey", "published version"],
  social_shares: ["share", "post on social media"],
  proposals: ["approval", "request for approval"],
};

const VERBS: Readonly<Partial<Record<Verb, readonly string[]>>> = {
  list: ["list", "show all", "which", "who is", "last"],
  get: ["look up a", "details of a"],
  create: ["add a", "new", "make a"],
  update: ["change a", "edit a"],
  delete: ["remove a", "delete a", "take away a"],
};

/** The words in which people ask for this operation: whole phrases, and names of its records. */
export function askedFor({ name, crud }: Operation): { phrases: string[]; nouns: readonly string[] } {
  const own = (ASKED[name] ?? "").split(/[,;]/).filter((phrase) => phrase.trim() !== "");
  const nouns = (crud && NOUNS[crud.table.name]) ?? [];
  const verbs = (crud && VERBS[crud.verb]) ?? [];
  return { phrases: [...own, ...verbs.flatMap((verb) => nouns.map((noun) => `${verb} ${noun}`))], nouns };
}

/** The same as one text, each word as often as people say it. */
export function askedText(operation: Operation): string {
  return [ASKED[operation.name] ?? "", ...askedFor(operation).nouns].join(" ");
}

/** People's words for a tool, beside those of its name and description. */
const ASKED: Readonly<Record<string, string>> = {
  // Players
  list_players:
    "find guests customers members patrons; who has, who are, look for people, filter by tier or ADT",
  get_player:
    "email address of a guest, phone number of a guest, what is known about, tier of a guest, birthday of, look up one customer, guest profile, details of a member",
  create_player: "new guest, sign up, enroll a member",
  update_player:
    "a guest moved, new address, edit a guest, correct a name, change an email address or phone number, set tier, add or remove a tag of a player, birth date, too young, underage, under 21",
  delete_player: "remove a guest, hide a player",
  restore_player:
    "undo a deletion, deleted by mistake, recover a removed or deleted guest, bring back a player",
  find_duplicate_players:
    "duplicates, double entries, same email, same phone, who is in the list twice, shared address, one guest with two accounts",
  merge_players: "same person twice, two records, combine duplicates, join, one guest with two accounts",
  set_player_status:
    "the host holds a guest back, VIP hold, freeze a player's account, lock an account, membership ended, a guest has died, guest died, ban someone, banned, bar a guest, died, death, deceased, passed away, unban, remove a mistaken ban, lift a ban",
  create_player_event: "record a visit, a stay, a deposit, a spend, activity, trip, something a guest did",
  list_player_events: "visits, deposits, activity, what has a guest done",
  create_custom_field: "add a field, new column, new attribute, property of players, favourite, extra data",
  update_custom_field: "rename a field, other choices of a field",
  export_players: "give me a file with all members, download players, spreadsheet, CSV file, Excel, extract",
  record_referral: "refer a friend, referred by, bring a friend, invitation",
  create_share_link: "share with friends, social media, referral link, invite",
  // Consent and compliance
  consent_record: "opted in, opt in, signed the form, agreed, gave permission, said yes, subscribe a guest",
  consent_revoke:
    "unsubscribe, opt out, stop, says stop, take off the mailing list, remove from the list, no more messages, withdraw, does not want mail, stop everything for a player, stop all messages to one player, block a player from all messages",
  consent_receipt: "prove, proof, evidence that a player agreed, certificate of consent, show the regulator",
  list_consent_records:
    "proof, evidence, when did a player agree, history of consent, opted in when, who opted out, which players unsubscribed, who said stop, wording that was accepted",
  create_dnc_entry:
    "block this phone number, put on the do not call list, do not call, never call or text again, never phone, block a phone number, call list",
  list_dnc_entries: "do not call list, numbers that may not be called",
  create_suppression: "block an address, blacklist, never email, stop mail to an address",
  list_suppressions:
    "mail goes to spam, spam folder, people who complained, complained, marked as spam, blocked addresses, blacklist, bounced addresses, complaints, who is suppressed",
  delete_suppression: "lift a block, unblock an address, allow again, whitelist, take off the blacklist",
  create_self_exclusion:
    "gambling ban, excludes himself, self exclude, take a break from gambling, problem gambler, responsible gaming",
  compliance_check:
    "may we contact, who may be emailed, allowed to text, is it legal, check eligibility of many",
  explain_eligibility:
    "why was a player skipped, why did somebody not get a message, can I message this person now, why not contacted, why blocked, which rule stands in the way",
  list_compliance_controls:
    "which rules does the service keep, regulator visits, inspection, audit by the regulator, which laws are covered, controls",
  send_evidence:
    "why did this message go out, prove that a message was allowed, a guest complains about a message, court, lawyer asks about a message",
  create_frequency_rule:
    "at most two a week, cap, limit how often, not more than, too many messages, fatigue",
  list_frequency_rules: "caps, how often may we write, limits in force",
  create_quiet_hours_rule:
    "don't send before 9am, do not send before, not after, only between, sending window, too early in the morning, no messages at night, night time, do not disturb, sending hours, not before nine, evening, weekend",
  list_quiet_hours_rules: "which hours are quiet, when may we text, allowed hours, night",
  // Segments
  create_segment: "new audience, group of players, save a list, target group, cohort, static list",
  update_segment: "rename an audience, change the rules of a segment, widen, narrow",
  list_segments: "which audiences are there, groups, lists",
  segment_preview:
    "how many players match, count, size of an audience, reach of rules, who would be in, top players by, try conditions",
  list_segment_members:
    "who is in the group, see who is in an audience, show the people of, people in a segment, who is in, members, players of a segment",
  segment_reach:
    "how many could we email, how many can be reached by text, reachable, size by channel, contactable",
  add_segment_members:
    "add many players to a static list, put hundreds of people on a list, fill a static segment, add 200 players to a list, turn a filter into a list",
  remove_segment_members:
    "take many players off a list, remove hundreds of people from a static list, empty a static segment, clear a list",
  create_segment_member: "put a player into a segment, add to a static list, add a guest to a group",
  delete_segment_member: "take a player out of a segment, remove from a static list",
  delete_segment: "delete an audience, remove a group, delete a list",
  // Campaigns
  list_campaigns:
    "drafts, what is scheduled, which campaigns are running, calendar, what goes out, what will go out in the next days, newsletters",
  create_campaign:
    "write an SMS, write an email, compose, draft a text message, prepare a mailing, new newsletter, mailing, blast, email, A/B test, split test, two subject lines, variants, hold out, control group, web push, notification, promotion, offer, inbox message with a button, message with a button to a game, voice call reminder, remind by phone, call players by phone, robocall my players, AI call, voice broadcast, phone call",
  update_campaign:
    "another language, translate a message, change the subject, edit the text, other audience, edit a scheduled campaign, fix a typo",
  duplicate_campaign:
    "send the same thing again, the same as last time, copy, clone, again like last month, reuse",
  send_campaign: "send now, go out, launch, start sending, blast, deliver",
  send_sms_campaign: "text message blast, send a text, text all players, SMS now",
  schedule_campaign:
    "postpone to Sunday, put off to another day, send later, tomorrow, on Friday at ten, own time zone, set the time, move to another day, postpone",
  unschedule_campaign:
    "undo the scheduling, back to draft, not on Friday after all, take back before it goes out tomorrow, call off",
  pause_campaign: "stop for now, hold, interrupt, halt the sending of one",
  resume_campaign: "go on, continue, carry on after the pause, unpause",
  cancel_campaign: "stop it, abort, sent too early, kill, end for good, call off",
  pause_all_sending:
    "send nothing today, holiday, emergency stop, stop everything, stop all sending now, stop every campaign, pause all campaigns at once, freeze, hold all messages",
  resume_all_sending:
    "reopen sending, allow sending again, end the emergency stop, bring the sending back, let everything go on, unfreeze",
  preflight_campaign:
    "check before sending, preview the email, who would get it, cost, is it ready, dry run of a campaign, how will it look, problems",
  send_test_message: "send me a test, proof copy, try it on myself, preview in my inbox",
  campaign_stats:
    "calls answered, last night's numbers of the campaign, unsubscribes of the campaign, lift of the hold out group, numbers, figures, how did it go, how well did it work, outcome, who opened, who clicked, effect, success, results, performance, report, delivery figures, opens, clicks, open rate, conversion rate, unsubscribes, bounces of a campaign, lift, hold out, control group, why only half reached, who won the test, is the A/B test significant, best subject line, which variant leads, what did the campaign cost, spent on a campaign, compare two campaigns, revenue",
  campaign_hours: "at which hour do people open and click, best time to send, by the hour, time of day",
  preview_campaign:
    "see the email as a guest sees it, how does the message look for one guest, show the text of a message, preview",
  get_sending_state:
    "is sending switched off, is everything paused, why does nothing go out, nobody gets messages, is the service sending",
  list_proposals:
    "what waits for approval, approve a campaign, open approvals, sign off, four eyes, requests of agents",
  preview_proposal: "what would be approved, look at what waits for approval",
  withdraw_proposal: "take a request for approval back",
  list_voice_calls: "transcript, what did the guest say in the call, who picked up, who hung up, call log",
  get_voice_call: "one call in full, transcript of a call",
  rehearse_voice_call: "try a call, hear how the call goes, practice a call script",
  list_campaign_sends:
    "did a guest get the message, somebody got it twice, received the same twice, mail is stuck, messages that wait, who got the campaign, what did a player receive, who was skipped and why, which emails bounced, status of each message, undelivered",
  create_template: "new design, layout, newsletter design, reusable content, MJML",
  update_template: "edit a design, change a layout, rename a template",
  // Journeys
  create_journey:
    "automation, drip, workflow, flow, series of messages, onboarding, repeat a campaign every week, recurring newsletter, every Sunday, each month",
  create_journey_from_recipe:
    "welcome series, birthday, win back, players away for 60 days, ready made automation, start a journey for new members, sample flow",
  publish_journey: "go live, activate the automation, turn on a journey, start a journey",
  pause_journey: "stop the journey, hold an automation, turn off",
  archive_journey: "end a journey for good, retire an automation, stop the journey",
  resume_journey: "let a journey go on, turn an automation on again",
  simulate_journey: "try a journey, test without sending, what would happen, rehearsal",
  preview_journey_message: "the text of an automation as a player gets it, look at a mail of a flow",
  validate_journey: "is the journey correct, errors of a flow",
  forecast_sending:
    "what goes out this week, goes out today, tomorrow, next days, upcoming messages, calendar of campaigns, planned, scheduled for, what is coming up, forecast",
  journey_report:
    "how is a journey doing, how is the welcome journey doing, results of a journey, how far are people, stuck, drop off, a journey loses people, lose people, conversion of an automation",
  explain_enrollment: "where is a player in a journey, which step, why is somebody stuck, why not further",
  list_journey_enrollments: "who is in a journey, people inside, stuck in a journey",
  enroll_players: "put players into a journey, add people to an automation, start it for these",
  exit_players:
    "stop the journey for one guest, take players out of a journey, remove people from an automation",
  verify_journey: "do the figures of a journey agree, recount",
  draw_journey: "picture, diagram, chart of a journey",
  // Games
  create_game:
    "a wheel with prizes, a wheel game, scratch card, wheel of fortune, spin wheel, mystery box, sweepstake, lottery, instant win, contest",
  activate_game: "open a game, go live with a wheel, start a game",
  pause_game: "stop a game for now",
  end_game: "close a game, finish a contest, draw is over",
  play_game: "spin the wheel, scratch, open the box, take a turn",
  game_report: "results of a game, prizes left, how many won, cost of prizes, liability",
  list_game_prizes: "prizes left, what can be won, stock, odds",
  list_game_plays: "who won the game, who won the scratch card, who won, winners, plays",
  add_prize_codes: "add voucher codes, upload coupon codes, more codes for a prize",
  resume_game: "let a game go on, open a game again",
  archive_game: "put a game away, hide an old contest",
  preview_game: "try a game, how does the wheel look, test a contest",
  clear_tax_form: "W-2G, tax form of a winner, large win, form was signed",
  create_game_prize: "add a prize, odds, stock of a prize",
  grant_game_tickets: "give a ticket, free spin, extra turn, entry for the wheel",
  redeem_prize: "hand out a prize, guest picks up the prize, pay a prize at the desk, redeem a code",
  claim_game_prize: "player accepts a prize, take a prize",
  verify_game_play: "was the draw fair, proof of a draw, check the odds, rigged, random",
  void_game_play: "take a prize back, annul a win",
  enter_game_free: "no purchase necessary, free entry, postal entry",
  check_game_play: "may a player play, plays left, eligible for a game",
  // Channels and providers
  create_message_provider:
    "connect SendGrid, Twilio, SES, Resend, SMTP, mail server, gateway, set up sending, another sender",
  update_message_provider: "use another sender, change credentials, switch the gateway, daily limit",
  list_message_providers:
    "is the mail server down, mail does not go out, is our email provider healthy, gateways, outage, which sender",
  list_inbound_messages:
    "read replies, what did players answer, incoming texts, need a look, messages from players, wait for review",
  resolve_sms_review: "decide whether a text meant stop, unclear text, incoming text that needs a look",
  read_sms_text: "would this text count as STOP, what does a text mean, test a keyword",
  create_sms_keyword: "answer to HELP, automatic reply, auto response, keyword such as INFO",
  list_sms_keywords_in_force: "which words mean stop, answer to HELP, replies",
  list_mailbox_messages: "what was sent to the mailbox, see the mail as sent, rehearsal, outgoing messages",
  list_inbox_messages: "messages in a player's inbox, what do players see, read or unread",
  create_subject_token: "show a guest's inbox in our own app, token for our app, sign a guest in",
  create_player_link: "link to a player's inbox, page of a player, sign in without password, preference link",
  show_push: "may a player get web push, browsers of a player",
  // Files and jobs
  create_import_job:
    "add many members from a file, bulk update tier of players, change many players at once, bulk, load a list, add new members from a file, put a spreadsheet in, import players, upload a CSV, load guests, bulk add, spreadsheet in, migrate from another system",
  get_import_job: "is the import done, progress of an upload, status",
  list_import_errors: "why did rows fail, refused rows, bad rows, what is wrong with my file",
  export_import_errors: "spreadsheet of bad rows, download refused rows, file of errors",
  create_upload_link: "file is too big to paste, large file, upload, send a big CSV",
  delete_import_job: "cancel an import, stop an upload",
  create_validation_job:
    "check addresses, clean the list, are these emails valid, verify emails before mailing",
  get_validation_job: "is the validation done, did the validation finish, progress of checking addresses",
  export_validation_results: "download the checked addresses, spreadsheet of the address check",
  read_import_file: "first lines of an uploaded file, which columns has my file, look into an upload",
  list_validation_results: "which addresses are bad, undeliverable, result of the check",
  // Webhooks
  create_webhook_endpoint:
    "tell my server, notify us about bounces, call back, subscribe to events, integrate, CRM, Zapier",
  update_webhook_endpoint: "turn a webhook off, other events, other address, disable callbacks",
  list_webhook_deliveries: "callbacks that failed, what was posted, failed deliveries, missed events",
  redeliver_webhook: "send one callback again, retry a delivery",
  replay_webhooks:
    "resend the webhooks of the last hour, send missed events again, catch up after an outage, hasten waiting callbacks",
  rotate_push_keys: "new VAPID key, change the keys of web push, leaked push key",
  rotate_webhook_secret: "new secret, change the signing key of an endpoint, leaked secret",
  test_webhook: "try the callback, ping my endpoint, does the webhook work",
  // Privacy and proof
  data_deletion:
    "GDPR, CCPA, right to be forgotten, forget a person, erase for good, delete all data of a guest, with proof",
  data_export: "what do you hold about me, subject access, copy of all data, data portability, GDPR access",
  create_privacy_request: "guest asks for correction, objection, restriction, privacy complaint, deadline",
  list_privacy_requests: "open privacy requests, deadlines, overdue, GDPR requests",
  list_audit_logs:
    "who sent this campaign, who deleted this player, who changed this segment, who changed this, who deleted that player, who changed that, who made this, who created it, who edited, who approved, who paused, who exported, who changed this, who did it, who sent the campaign, who deleted, who was deleted, who was banned, who was erased, when was it paused, trail, history of changes, by which key",
  verify_ledger: "tampered with, manipulated, is the log intact, integrity, forged",
  get_property:
    "which tiers do we have, list of our tiers, company address, settings, legal name, time zone, our configuration, casino's details",
  get_property_theme: "change our logo, which logo, colours, logo, brand, look",
  // Of people, and withheld from keys
  update_property:
    "change the postal address of the casino, legal name, time zone, sender address, property settings, tiers, approval limit, mask data for analysts, stop asking me to confirm, switch off tracking, turn on four eyes, rename the casino",
  approve_proposal: "approve a proposal, approve the campaign, sign off what waits for approval",
  create_api_key: "make an API key, new API key, key for another program",
  revoke_api_key: "withdraw an API key, leaked key",
  invite_member: "invite a colleague, give a colleague access",
  list_templates: "designs, layouts, which templates",
  delete_campaign: "throw a draft away, remove a campaign",
  delete_template: "remove a design",
  list_journeys: "which automations are running, flows",
  list_games: "which games are running, contests",
  list_webhook_endpoints: "where do events go, which servers get callbacks",
  delete_webhook_endpoint: "stop the callbacks, remove an endpoint",
  update_journey: "edit an automation, change a step of a flow",
  list_validation_jobs: "checks of addresses, earlier validations",
  list_import_jobs: "earlier uploads, recent imports, which files were loaded",
};
