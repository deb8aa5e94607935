-- Text messages from players, and the keywords that classify them.

-- The keywords that every property starts with. A property adds to them, or overrides one, in sms_keywords. Words
-- that the law names (47 CFR 64.1200(a)(10) and similar rules) cannot be overridden.
create table sms_keyword_defaults (
  text text not null,
  action text not null check (action in ('stop', 'start', 'help', 'review')),
  match text not null check (match in ('message', 'beginning', 'anywhere')),
  language text not null default 'en',
  is_protected boolean not null default false,
  primary key (text, match)
);
grant select on sms_keyword_defaults to app_property, app_system;
grant insert, update, delete on sms_keyword_defaults to app_system;

-- Whole messages that mean stop, by the lists of Twilio, AWS and the FCC; other common wordings follow below.
insert into sms_keyword_defaults (text, action, match, language, is_protected)
select text, 'stop', 'message', language, true
from unnest(array['en', 'es', 'fr'], array[
  'STOP|STOPALL|UNSUBSCRIBE|CANCEL|END|QUIT|REVOKE|OPTOUT|REMOVE',
  'ALTO|PARAR',
  'ARRET']) as l(language, words), regexp_split_to_table(words, '\|') as text;

insert into sms_keyword_defaults (text, action, match, language)
select text, action, match, language
from (values
  ('stop', 'message', 'en', 'STOPP|STP|STOO|STOPPP|STOP IT|STOP THIS|STOP NOW|STOP ALREADY|STOP EVERYTHING|STOPTEXT|'
    'OPT ME OUT|UNSUB|UNSUBSCRIBE ME|UNSUBSCRIBE ALL|CANCEL ALL|REMOVE ME|TAKE ME OFF|NO MORE|NO MORE TEXTS|NO MORE MESSAGES|NO MORE CALLS|'
    'LEAVE ME ALONE|LOSE MY NUMBER|DELETE MY NUMBER|GO AWAY|FUCK OFF'),
  ('stop', 'message', 'es', 'PARE|PAREN|BAJA|DARME DE BAJA|CANCELAR|SALIR|DETENER|BASTA|NO MAS|NO MAS MENSAJES|DEJEN DE MOLESTAR'),
  ('stop', 'message', 'fr', 'ARRETER|ARRETEZ|DESABONNER|DESABONNEMENT|DESINSCRIRE|PLUS DE MESSAGES'),
  ('stop', 'message', 'de', 'STOPPEN|HALT|SCHLUSS|ABMELDEN|ABBESTELLEN|AUFHOREN'),
  ('stop', 'message', 'pt', 'SAIR|PARA'),
  ('stop', 'message', 'tl', 'TIGIL|ITIGIL|HINTO'),
  ('stop', 'message', 'zh', '停|停止|退订|退訂|取消|拒收'),
  ('stop', 'message', 'ko', '중지|수신거부'),
  ('stop', 'message', 'ru', 'СТОП'),
  ('stop', 'beginning', 'en', 'STOP TEXTING|STOP TXTING|STOP MESSAGING|STOP MSGING|STOP SENDING|STOP CONTACTING|'
    'STOP SPAMMING|STOP CALLING|STOP BOTHERING|STOP HARASSING|STOP ALL|STOP THESE|STOP THE TEXTS|STOP THE MESSAGES|STOP SMS|'
    'STOP TEXTS|STOP MESSAGES|TAKE ME OFF|REMOVE ME|REMOVE MY NUMBER|DELETE MY NUMBER|UNSUBSCRIBE ME|OPT ME OUT|'
    'OPT OUT|DO NOT TEXT ME|DONT TEXT ME|DO NOT CONTACT ME|DONT CONTACT ME|DO NOT MESSAGE ME|DONT MESSAGE ME|'
    'DO NOT SEND ME|DONT SEND ME|NEVER TEXT ME|NEVER CONTACT ME|QUIT TEXTING|QUIT MESSAGING|QUIT SENDING|'
    'CEASE AND DESIST|NO MORE TEXTS|NO MORE MESSAGES|NO MORE CALLS|LEAVE ME ALONE|I OPT OUT|I REVOKE|I WITHDRAW MY CONSENT|'
    'I DO NOT CONSENT|I DONT WANT THESE|I DO NOT WANT THESE|I NO LONGER WANT|I WANT TO OPT OUT|I WANT TO UNSUBSCRIBE'),
  ('stop', 'beginning', 'es', 'DEJEN DE|DEJE DE|DEJA DE|DEJA DE MANDARME|NO ME ENVIEN|NO ME MANDEN|NO ENVIEN MAS|'
    'NO MANDEN MAS|NO QUIERO MAS|NO QUIERO RECIBIR|QUITENME DE|QUITEME DE|BORRENME|BORREME|PAREN DE|'
    'NO ME LLAMEN|NO ME LLAME|NO LLAMEN MAS'),
  ('stop', 'beginning', 'fr', 'ARRETEZ DE|ARRETE DE|NE M ENVOYEZ PLUS|NE MENVOYEZ PLUS|JE NE VEUX PLUS|'
    'RETIREZ MOI|DESABONNEZ MOI|DESINSCRIVEZ MOI|NE MAPPELEZ PLUS|NE M APPELEZ PLUS'),
  ('stop', 'beginning', 'de', 'HOREN SIE AUF|HOR AUF|RUFEN SIE MICH NICHT|KEINE ANRUFE|KEINE NACHRICHTEN|KEINE WERBUNG|'
    'LASSEN SIE MICH IN RUHE|STREICHEN SIE MICH|SCHREIBEN SIE MIR NICHT'),
  ('review', 'anywhere', 'en', 'STOP|STOPS|STOPPED|STOPPING|STOPALL|STP|SOTP|UNSUBSCRIBE|UNSUBSCRIBED|UNSUBSCRIBING|UNSUB|'
    'OPT OUT|OPTOUT|OPTED OUT|OPTING OUT|OPT ME OUT|CANCEL|REVOKE|REMOVE ME|REMOVE MY|TAKE ME OFF|DO NOT TEXT|DONT TEXT|'
    'DO NOT CONTACT|DONT CONTACT|NO MORE TEXTS|NO MORE MESSAGES|NO MORE CALLS|LEAVE ME ALONE|WRONG NUMBER|WRONG PERSON|'
    'DO NOT CALL|DONT CALL|NOT TO CALL|NOT TO TEXT|NOT TO CONTACT|NEVER CALL|NEVER TEXT|'
    'NEVER CONTACT|DONT EVER|DO NOT EVER|QUIT CALLING|QUIT TEXTING|QUIT BOTHERING|NO CALLS|ANY MORE CALLS|'
    'ANYMORE CALLS|ANY MORE TEXTS|ANY MORE MESSAGES|DONT WANT THESE|DO NOT WANT THESE|DONT WANT YOU TO|'
    'DO NOT WANT YOU TO|NO LONGER WANT|GET ME OFF|DELETE MY|WITHDRAW MY CONSENT|WITHDRAW CONSENT|SPAM|HARASSMENT|'
    'DONT WANT ANY CALLS|DO NOT WANT ANY CALLS|DONT WANT ANY TEXTS|DO NOT WANT ANY TEXTS|DONT WANT ANY MESSAGES|'
    'DO NOT WANT ANY MESSAGES|DONT WANT CALLS|DO NOT WANT CALLS|DONT WANT TEXTS|DO NOT WANT TEXTS|DONT WANT YOUR|'
    'DO NOT WANT YOUR|DONT WANT TO BE CALLED|DO NOT WANT TO BE CALLED|DONT WANT TO BE CONTACTED|DO NOT WANT TO BE CONTACTED|'
    'DONT WANT TO BE TEXTED|DO NOT WANT TO BE TEXTED|DO NOT WISH TO BE|DONT WISH TO BE|DO NOT WISH TO RECEIVE|'
    'DONT WANT TO HEAR FROM|DO NOT WANT TO HEAR FROM|DONT WANT TO GET CALLS|DO NOT WANT TO GET CALLS|'
    'DONT WANT TO GET TEXTS|DO NOT WANT TO GET TEXTS|DONT WANT TO RECEIVE|'
    'DO NOT WANT TO RECEIVE|NO TEXTS|NO CONTACT|NO FURTHER CALLS|NO FURTHER TEXTS|NO FURTHER MESSAGES|NO FURTHER CONTACT|'
    'DONT BOTHER ME|DO NOT BOTHER ME|DONT MESSAGE|DO NOT MESSAGE|DONT EMAIL|DO NOT EMAIL|NAME OFF|NUMBER OFF|OFF YOUR LIST|'
    'OFF THE LIST|FROM YOUR LIST|FORGET MY NUMBER|CEASE|DESIST|'
    'HARASSING|LAWYER|ATTORNEY|LAWSUIT|SUE YOU|TCPA|FCC|REPORT YOU|'
    'SELF EXCLUDE|SELF EXCLUDED|SELF EXCLUSION|GAMBLING PROBLEM|GAMBLING ADDICTION|PROBLEM GAMBLER|DECEASED'),
  ('review', 'anywhere', 'es', 'ALTO|PARAR|CANCELAR|CANCELE|CANCELEN|NO MAS MENSAJES|NO MAS LLAMADAS|NUMERO EQUIVOCADO|'
    'DEJEN DE|DEJE DE|DEJA DE|MOLESTAR|NO MOLESTEN|NO MOLESTE|NO ME MOLESTEN|NO ME MOLESTE|YA BASTA|DE BAJA|REVOCO|'
    'RETIRO MI CONSENTIMIENTO|NO LLAMEN|NO LLAME|NO ME LLAMEN|NO ME LLAME|NO ME LLAMES|NO QUIERO QUE ME|'
    'NO ME ESCRIBAN|NO ME ENVIEN|NO ME MANDEN|NO VUELVAN A|NO VUELVA A|NO ME VUELVAN A|NO ME VUELVA A|NO QUIERO MAS|'
    'NO QUIERO LLAMADAS|NO QUIERO MENSAJES|NO QUIERO TEXTOS|NO QUIERO SUS|NO LLAMAR|NO ME MARQUE|NO ME MARQUEN|NO ME HABLE|'
    'NO ME HABLEN|NO ME CONTACTE|NO ME CONTACTEN|BORRAR MI|ELIMINAR MI|'
    'NO QUIERO RECIBIR|NO RECIBIR MAS|QUITENME|QUITEME|SAQUENME|SAQUEME|BORRENME|BORREME|ELIMINE MI|ELIMINEN MI|BORRE MI|'
    'BORREN MI|ABOGADO'),
  ('review', 'anywhere', 'fr', 'ARRET|ARRETER|ARRETEZ|ARRETE|CESSEZ|STOPPEZ|DESABONNER|DESABONNEZ|DESABONNEMENT|'
    'DESINSCRIRE|DESINSCRIVEZ|DESINSCRIPTION|NAPPELEZ PLUS|NE MAPPELEZ PLUS|NE M APPELEZ PLUS|PLUS MAPPELER|PLUS ETRE APPELE|'
    'PLUS ETRE APPELEE|NE ME RAPPELEZ|NE ME TELEPHONEZ|NE ME CONTACTEZ|NE ME DERANGEZ|NE VEUX PLUS|NE SOUHAITE PLUS|'
    'PLUS RECEVOIR|PLUS DAPPELS|PLUS DAPPEL|CA SUFFIT|MOI TRANQUILLE|MOI LA PAIX|RETIREZ MOI|ENLEVEZ MOI|SUPPRIMEZ MON|'
    'EFFACEZ MON|EFFACEZ MOI|PAS ETRE CONTACTE|PAS ETRE CONTACTEE|PAS ETRE APPELE|PAS ETRE APPELEE|PLUS ETRE CONTACTE|'
    'PLUS ETRE CONTACTEE|PAS DAPPELS|PAS DE MESSAGES|NE MECRIVEZ|NE MENVOYEZ|NAPPELEZ PAS|NE MAPPELEZ PAS|NE MAPPELEZ JAMAIS|'
    'SUPPRIMEZ MOI|RETIRE MON CONSENTEMENT|REVOQUE|MAUVAIS NUMERO|HARCELEMENT|AVOCAT'),
  ('review', 'anywhere', 'de', 'STOPP|ABMELDEN|ABBESTELLEN|AUFHOREN|HOREN SIE AUF|HOR AUF|HORT AUF|NICHT MEHR AN|'
    'NICHT ANRUFEN|NICHT MEHR ANRUFEN|NICHT MEHR ANGERUFEN|NICHT MEHR KONTAKTIERT|RUFEN SIE MICH NICHT|NIE WIEDER|KEINE ANRUFE|'
    'NICHT KONTAKTIEREN|NICHT MEHR KONTAKTIEREN|NICHT MEHR SCHREIBEN|NICHT MEHR MELDEN|NICHT STOREN|RUFT MICH NICHT|'
    'RUF MICH NICHT|KEINE SMS|KEINEN ANRUF|BITTE LOSCHEN|'
    'KEINE WEITEREN ANRUFE|KEINE WEITEREN NACHRICHTEN|KEINE NACHRICHTEN|KEINE WERBUNG|IN RUHE|LOSCHEN SIE|VON DER LISTE|'
    'VON IHRER LISTE|AUS DER LISTE|AUS IHRER LISTE|WIDERRUFE|WIDERRUF|UNTERLASSEN SIE|BELASTIGUNG|FALSCHE NUMMER|ANWALT|'
    'SPIELSUCHT'),
  ('review', 'anywhere', 'zh', '停止|退订|退訂|拒收|拒绝|拒絕|拉黑|不要再|别再|別再|不要打|别打|別打|不要给我|别给我|不要給我|別給我|'
    '勿扰|勿擾|勿打扰|勿打擾|不要打扰|别打扰|不要联系|不要聯繫|不要聯絡|别联系|別聯繫|別聯絡|不要发|不要發|别发|別發|'
    '不想再|不想接|别烦|別煩|删除|刪除|打错|打錯|骚扰|騷擾|律师|律師'),
  ('start', 'message', 'en', 'START|UNSTOP|YES'),
  ('help', 'message', 'en', 'HELP|INFO|HELP ME|MORE INFO'),
  ('help', 'message', 'es', 'AYUDA'),
  ('help', 'message', 'fr', 'AIDE')) as l(action, match, language, words),
  regexp_split_to_table(words, '\|') as text
on conflict do nothing;

create table sms_keywords (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  text text not null,
  -- The normalized text: upper case, without spaces, accents and punctuation.
  form text not null,
  action text not null check (action in ('stop', 'start', 'help', 'review', 'ignore')),
  match text not null default 'message' check (match in ('message', 'beginning', 'anywhere')),
  language text,
  note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, form, match)
);
create index sms_keywords_created on sms_keywords (property_id, created_at, id);

create table inbound_messages (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  channel text not null default 'sms' check (channel in ('sms')),
  provider text not null,
  provider_id uuid,
  provider_message_id text not null,
  player_id uuid,
  anon_id uuid,
  sender text,
  sender_hash bytea,
  recipient text not null,
  text text,
  action text not null check (action in ('stop', 'start', 'help', 'review', 'none')),
  matched text,
  needs_review boolean not null default false,
  review_decision text check (review_decision in ('revoke', 'release')),
  reviewed_by uuid,
  reviewed_at timestamptz,
  reply_text text,
  reply_status text check (reply_status in ('queued', 'sending', 'sent', 'failed', 'expired', 'unknown')),
  reply_error text,
  replied_at timestamptz,
  received_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, provider, provider_message_id),
  foreign key (property_id, player_id) references players
);
create index inbound_messages_created on inbound_messages (property_id, created_at, id);
create index inbound_messages_sender on inbound_messages (property_id, sender_hash, received_at);
create index inbound_messages_player on inbound_messages (property_id, player_id);

call isolate_tenants('sms_keywords', 'inbound_messages');
