-- What postpones a message: quiet hours by the player's place, and caps on how often.

create function area_code_place(area_code text) returns text language sql immutable parallel safe as $$
  select '{
    "201":"US-NJ E","202":"US-DC E","203":"US-CT E","204":"CA-MB W","205":"US-AL C","206":"US-WA P","207":"US-ME E",
    "208":"US-ID MP","209":"US-CA P","210":"US-TX C","212":"US-NY E","213":"US-CA P","214":"US-TX C",
    "215":"US-PA E","216":"US-OH E","217":"US-IL C","218":"US-MN C","219":"US-IN EC","220":"US-OH E",
    "223":"US-PA E","224":"US-IL C","225":"US-LA C","226":"CA-ON T","227":"US-MD E","228":"US-MS C","229":"US-GA E",
    "231":"US-MI E","234":"US-OH E","235":"US-MO C","236":"CA-BC VLZ","239":"US-FL E","240":"US-MD E","242":"BS",
    "246":"BB","248":"US-MI E","249":"CA-ON T","250":"CA-BC VLZ","251":"US-AL C","252":"US-NC E","253":"US-WA P",
    "254":"US-TX C","256":"US-AL C","257":"CA-BC VLZ","260":"US-IN E","262":"US-WI C","263":"CA-QC T","264":"AI",
    "267":"US-PA E","268":"AG","269":"US-MI E","270":"US-KY EC","272":"US-PA E","274":"US-WI C","276":"US-VA E",
    "279":"US-CA P","281":"US-TX C","283":"US-OH E","284":"VG","289":"CA-ON T","301":"US-MD E","302":"US-DE E",
    "303":"US-CO M","304":"US-WV E","305":"US-FL E","306":"CA-SK RL","307":"US-WY M","308":"US-NE CM",
    "309":"US-IL C","310":"US-CA P","312":"US-IL C","313":"US-MI E","314":"US-MO C","315":"US-NY E","316":"US-KS C",
    "317":"US-IN E","318":"US-LA C","319":"US-IA C","320":"US-MN C","321":"US-FL E","323":"US-CA P","324":"US-FL E",
    "325":"US-TX C","326":"US-OH E","327":"US-AR C","329":"US-NY E","330":"US-OH E","331":"US-IL C","332":"US-NY E",
    "334":"US-AL C","336":"US-NC E","337":"US-LA C","339":"US-MA E","340":"US-VI A","341":"US-CA P","343":"CA-ON T",
    "345":"KY","346":"US-TX C","347":"US-NY E","350":"US-CA P","351":"US-MA E","352":"US-FL E","353":"US-WI C",
    "354":"CA-QC T","357":"US-CA P","360":"US-WA P","361":"US-TX C","363":"US-NY E","364":"US-KY EC",
    "365":"CA-ON T","367":"CA-QC TXA","368":"CA-AB L","369":"US-CA P","380":"US-OH E","382":"CA-ON T",
    "385":"US-UT M","386":"US-FL E","401":"US-RI E","402":"US-NE CM","403":"CA-AB L","404":"US-GA E",
    "405":"US-OK C","406":"US-MT M","407":"US-FL E","408":"US-CA P","409":"US-TX C","410":"US-MD E","412":"US-PA E",
    "413":"US-MA E","414":"US-WI C","415":"US-CA P","416":"CA-ON T","417":"US-MO C","418":"CA-QC TXA",
    "419":"US-OH E","423":"US-TN EC","424":"US-CA P","425":"US-WA P","428":"CA-NB X","430":"US-TX C",
    "431":"CA-MB W","432":"US-TX CM","434":"US-VA E","435":"US-UT M","436":"US-OH E","437":"CA-ON T",
    "438":"CA-QC T","440":"US-OH E","441":"BM","442":"US-CA P","443":"US-MD E","445":"US-PA E","447":"US-IL C",
    "448":"US-FL EC","450":"CA-QC T","457":"US-LA C","458":"US-OR PM","463":"US-IN E","464":"US-IL C",
    "465":"US-NY E","468":"CA-QC T","469":"US-TX C","470":"US-GA E","471":"US-MS C","472":"US-NC E","473":"GD",
    "474":"CA-SK RL","475":"US-CT E","478":"US-GA E","479":"US-AR C","480":"US-AZ Z","484":"US-PA E",
    "501":"US-AR C","502":"US-KY E","503":"US-OR P","504":"US-LA C","505":"US-NM M","506":"CA-NB X","507":"US-MN C",
    "508":"US-MA E","509":"US-WA P","510":"US-CA P","512":"US-TX C","513":"US-OH E","514":"CA-QC T","515":"US-IA C",
    "516":"US-NY E","517":"US-MI E","518":"US-NY E","519":"CA-ON T","520":"US-AZ Z","530":"US-CA P",
    "531":"US-NE CM","534":"US-WI C","539":"US-OK C","540":"US-VA E","541":"US-OR PM","548":"CA-ON T",
    "551":"US-NJ E","557":"US-MO C","559":"US-CA P","561":"US-FL E","562":"US-CA P","563":"US-IA C","564":"US-WA P",
    "567":"US-OH E","570":"US-PA E","571":"US-VA E","572":"US-OK C","573":"US-MO C","574":"US-IN EC",
    "575":"US-NM M","579":"CA-QC T","580":"US-OK C","581":"CA-QC TXA","582":"US-PA E","584":"CA-MB W",
    "585":"US-NY E","586":"US-MI E","587":"CA-AB L","601":"US-MS C","602":"US-AZ Z","603":"US-NH E","604":"CA-BC V",
    "605":"US-SD CM","606":"US-KY EC","607":"US-NY E","608":"US-WI C","609":"US-NJ E","610":"US-PA E",
    "612":"US-MN C","613":"CA-ON T","614":"US-OH E","615":"US-TN C","616":"US-MI E","617":"US-MA E","618":"US-IL C",
    "619":"US-CA P","620":"US-KS CM","621":"US-TX C","623":"US-AZ Z","624":"US-NY E","626":"US-CA P",
    "628":"US-CA P","629":"US-TN C","630":"US-IL C","631":"US-NY E","636":"US-MO C","639":"CA-SK RL",
    "640":"US-NJ E","641":"US-IA C","645":"US-FL E","646":"US-NY E","647":"CA-ON T","649":"TC","650":"US-CA P",
    "651":"US-MN C","656":"US-FL E","657":"US-CA P","658":"JM","659":"US-AL C","660":"US-MO C","661":"US-CA P",
    "662":"US-MS C","664":"MS","667":"US-MD E","669":"US-CA P","670":"US-MP G","671":"US-GU G","672":"CA-BC VLZ",
    "678":"US-GA E","679":"US-MI E","680":"US-NY E","681":"US-WV E","682":"US-TX C","683":"CA-ON T","684":"US-AS S",
    "686":"US-VA E","689":"US-FL E","701":"US-ND CM","702":"US-NV P","703":"US-VA E","704":"US-NC E",
    "705":"CA-ON T","706":"US-GA E","707":"US-CA P","708":"US-IL C","709":"CA-NL NX","712":"US-IA C",
    "713":"US-TX C","714":"US-CA P","715":"US-WI C","716":"US-NY E","717":"US-PA E","718":"US-NY E","719":"US-CO M",
    "720":"US-CO M","721":"SX","724":"US-PA E","725":"US-NV P","726":"US-TX C","727":"US-FL E","728":"US-FL E",
    "730":"US-IL C","731":"US-TN C","732":"US-NJ E","734":"US-MI E","737":"US-TX C","738":"US-CA P","740":"US-OH E",
    "742":"CA-ON T","743":"US-NC E","747":"US-CA P","748":"US-CO M","753":"CA-ON T","754":"US-FL E","757":"US-VA E",
    "758":"LC","760":"US-CA P","762":"US-GA E","763":"US-MN C","765":"US-IN EC","767":"DM","769":"US-MS C",
    "770":"US-GA E","771":"US-DC E","772":"US-FL E","773":"US-IL C","774":"US-MA E","775":"US-NV PM",
    "778":"CA-BC VLZ","779":"US-IL C","780":"CA-AB L","781":"US-MA E","782":"CA X","784":"VC","785":"US-KS CM",
    "786":"US-FL E","787":"US-PR A","801":"US-UT M","802":"US-VT E","803":"US-SC E","804":"US-VA E","805":"US-CA P",
    "806":"US-TX CM","807":"CA-ON TWO","808":"US-HI H","809":"DO","810":"US-MI E","812":"US-IN EC","813":"US-FL E",
    "814":"US-PA E","815":"US-IL C","816":"US-MO C","817":"US-TX C","818":"US-CA P","819":"CA-QC TA",
    "820":"US-CA P","821":"US-SC E","825":"CA-AB L","826":"US-VA E","828":"US-NC E","829":"DO","830":"US-TX C",
    "831":"US-CA P","832":"US-TX C","835":"US-PA E","837":"US-CA P","838":"US-NY E","839":"US-SC E","840":"US-CA P",
    "843":"US-SC E","845":"US-NY E","847":"US-IL C","848":"US-NJ E","849":"DO","850":"US-FL EC","854":"US-SC E",
    "856":"US-NJ E","857":"US-MA E","858":"US-CA P","859":"US-KY E","860":"US-CT E","861":"US-IL C","862":"US-NJ E",
    "863":"US-FL E","864":"US-SC E","865":"US-TN E","867":"CA YLQUIO","868":"TT","869":"KN","870":"US-AR C",
    "872":"US-IL C","873":"CA-QC TA","876":"JM","878":"US-PA E","879":"CA-NL NX","901":"US-TN C","902":"CA X",
    "903":"US-TX C","904":"US-FL E","905":"CA-ON T","906":"US-MI EC","907":"US-AK KD","908":"US-NJ E",
    "909":"US-CA P","910":"US-NC E","912":"US-GA E","913":"US-KS C","914":"US-NY E","915":"US-TX CM",
    "916":"US-CA P","917":"US-NY E","918":"US-OK C","919":"US-NC E","920":"US-WI C","924":"US-MN C","925":"US-CA P",
    "928":"US-AZ ZM","929":"US-NY E","930":"US-IN EC","931":"US-TN EC","934":"US-NY E","936":"US-TX C",
    "937":"US-OH E","938":"US-AL C","939":"US-PR A","940":"US-TX C","941":"US-FL E","942":"CA-ON T","943":"US-GA E",
    "945":"US-TX C","947":"US-MI E","948":"US-VA E","949":"US-CA P","951":"US-CA P","952":"US-MN C","954":"US-FL E",
    "956":"US-TX C","959":"US-CT E","970":"US-CO M","971":"US-OR P","972":"US-TX C","973":"US-NJ E","975":"US-MO C",
    "978":"US-MA E","979":"US-TX C","980":"US-NC E","983":"US-CO M","984":"US-NC E","985":"US-LA C",
    "986":"US-ID MP","989":"US-MI E"
    }'::jsonb ->> area_code
$$;

create function zone_set(letters text) returns text[] language sql immutable parallel safe as $$
  select ('{
    "A":"{America/Puerto_Rico}","C":"{America/Chicago}","CM":"{America/Chicago,America/Denver}",
    "E":"{America/New_York}","EC":"{America/Chicago,America/New_York}","G":"{Pacific/Guam}",
    "H":"{Pacific/Honolulu}","K":"{America/Anchorage}","KD":"{America/Adak,America/Anchorage}",
    "L":"{America/Edmonton}","M":"{America/Denver}","MP":"{America/Denver,America/Los_Angeles}",
    "NX":"{America/Halifax,America/St_Johns}","P":"{America/Los_Angeles}",
    "PM":"{America/Denver,America/Los_Angeles}",
    "QUIO":"{America/Atikokan,America/Cambridge_Bay,America/Iqaluit,America/Rankin_Inlet}",
    "RL":"{America/Edmonton,America/Regina}","S":"{Pacific/Pago_Pago}","T":"{America/Toronto}",
    "TA":"{America/Puerto_Rico,America/Toronto}","TWO":"{America/Atikokan,America/Toronto,America/Winnipeg}",
    "TXA":"{America/Halifax,America/Puerto_Rico,America/Toronto}","V":"{America/Vancouver}",
    "VLZ":"{America/Edmonton,America/Phoenix,America/Vancouver}","W":"{America/Winnipeg}","X":"{America/Halifax}",
    "Y":"{America/Whitehorse}",
    "YLQUIO":"{America/Atikokan,America/Cambridge_Bay,America/Edmonton,America/Iqaluit,America/Rankin_Inlet,America/Whitehorse}",
    "Z":"{America/Phoenix}","ZM":"{America/Denver,America/Phoenix}"
    }'::jsonb ->> letters)::text[]
$$;

create function country_zones(country text) returns text[] language sql immutable parallel safe as $$
  select ('{
    "AD":"{Europe/Andorra}","AE":"{Asia/Dubai}","AF":"{Asia/Kabul}","AG":"{America/Antigua}",
    "AI":"{America/Anguilla}","AL":"{Europe/Tirane}","AM":"{Asia/Yerevan}","AO":"{Africa/Luanda}",
    "AR":"{America/Argentina/Buenos_Aires}","AT":"{Europe/Vienna}",
    "AU":"{Australia/Brisbane,Australia/Broken_Hill,Australia/Darwin,Australia/Eucla,Australia/Lord_Howe,Australia/Perth,Australia/Sydney}",
    "AW":"{America/Aruba}","AX":"{Europe/Mariehamn}","AZ":"{Asia/Baku}","BA":"{Europe/Sarajevo}",
    "BB":"{America/Barbados}","BD":"{Asia/Dhaka}","BE":"{Europe/Brussels}","BF":"{Africa/Ouagadougou}",
    "BG":"{Europe/Sofia}","BH":"{Asia/Bahrain}","BI":"{Africa/Bujumbura}","BJ":"{Africa/Porto-Novo}",
    "BL":"{America/St_Barthelemy}","BM":"{Atlantic/Bermuda}","BN":"{Asia/Brunei}","BO":"{America/La_Paz}",
    "BQ":"{America/Kralendijk}","BR":"{America/Manaus,America/Noronha,America/Rio_Branco,America/Sao_Paulo}",
    "BS":"{America/Nassau}","BT":"{Asia/Thimphu}","BW":"{Africa/Gaborone}","BY":"{Europe/Minsk}",
    "BZ":"{America/Belize}","CC":"{Indian/Cocos}","CD":"{Africa/Kinshasa,Africa/Lubumbashi}","CF":"{Africa/Bangui}",
    "CG":"{Africa/Brazzaville}","CH":"{Europe/Zurich}","CI":"{Africa/Abidjan}","CK":"{Pacific/Rarotonga}",
    "CL":"{America/Punta_Arenas,America/Santiago,Pacific/Easter}","CM":"{Africa/Douala}",
    "CN":"{Asia/Shanghai,Asia/Urumqi}","CO":"{America/Bogota}","CR":"{America/Costa_Rica}","CU":"{America/Havana}",
    "CV":"{Atlantic/Cape_Verde}","CW":"{America/Curacao}","CX":"{Indian/Christmas}","CY":"{Asia/Nicosia}",
    "CZ":"{Europe/Prague}","DE":"{Europe/Berlin}","DJ":"{Africa/Djibouti}","DK":"{Europe/Copenhagen}",
    "DM":"{America/Dominica}","DO":"{America/Santo_Domingo}","DZ":"{Africa/Algiers}",
    "EC":"{America/Guayaquil,Pacific/Galapagos}","EE":"{Europe/Tallinn}","EG":"{Africa/Cairo}",
    "EH":"{Africa/El_Aaiun}","ER":"{Africa/Asmara}","ES":"{Atlantic/Canary,Europe/Madrid}",
    "ET":"{Africa/Addis_Ababa}","FI":"{Europe/Helsinki}","FJ":"{Pacific/Fiji}","FK":"{Atlantic/Stanley}",
    "FM":"{Pacific/Chuuk,Pacific/Pohnpei}","FO":"{Atlantic/Faroe}","FR":"{Europe/Paris}","GA":"{Africa/Libreville}",
    "GB":"{Europe/London}","GD":"{America/Grenada}","GE":"{Asia/Tbilisi}","GF":"{America/Cayenne}",
    "GG":"{Europe/Guernsey}","GH":"{Africa/Accra}","GI":"{Europe/Gibraltar}",
    "GL":"{America/Danmarkshavn,America/Nuuk,America/Thule}","GM":"{Africa/Banjul}","GN":"{Africa/Conakry}",
    "GP":"{America/Guadeloupe}","GQ":"{Africa/Malabo}","GR":"{Europe/Athens}","GS":"{Atlantic/South_Georgia}",
    "GT":"{America/Guatemala}","GW":"{Africa/Bissau}","GY":"{America/Guyana}","HK":"{Asia/Hong_Kong}",
    "HN":"{America/Tegucigalpa}","HR":"{Europe/Zagreb}","HT":"{America/Port-au-Prince}","HU":"{Europe/Budapest}",
    "ID":"{Asia/Jakarta,Asia/Jayapura,Asia/Makassar}","IE":"{Europe/Dublin}","IL":"{Asia/Jerusalem}",
    "IM":"{Europe/Isle_of_Man}","IN":"{Asia/Kolkata}","IO":"{Indian/Chagos}","IQ":"{Asia/Baghdad}",
    "IR":"{Asia/Tehran}","IS":"{Atlantic/Reykjavik}","IT":"{Europe/Rome}","JE":"{Europe/Jersey}",
    "JM":"{America/Jamaica}","JO":"{Asia/Amman}","JP":"{Asia/Tokyo}","KE":"{Africa/Nairobi}","KG":"{Asia/Bishkek}",
    "KH":"{Asia/Phnom_Penh}","KI":"{Pacific/Enderbury,Pacific/Kiritimati,Pacific/Tarawa}","KM":"{Indian/Comoro}",
    "KN":"{America/St_Kitts}","KP":"{Asia/Pyongyang}","KR":"{Asia/Seoul}","KW":"{Asia/Kuwait}",
    "KY":"{America/Cayman}","KZ":"{Asia/Almaty}","LA":"{Asia/Vientiane}","LB":"{Asia/Beirut}",
    "LC":"{America/St_Lucia}","LI":"{Europe/Vaduz}","LK":"{Asia/Colombo}","LR":"{Africa/Monrovia}",
    "LS":"{Africa/Maseru}","LT":"{Europe/Vilnius}","LU":"{Europe/Luxembourg}","LV":"{Europe/Riga}",
    "LY":"{Africa/Tripoli}","MA":"{Africa/Casablanca}","MC":"{Europe/Monaco}","MD":"{Europe/Chisinau}",
    "ME":"{Europe/Podgorica}","MF":"{America/Marigot}","MG":"{Indian/Antananarivo}","MH":"{Pacific/Majuro}",
    "MK":"{Europe/Skopje}","ML":"{Africa/Bamako}","MM":"{Asia/Yangon}","MN":"{Asia/Hovd,Asia/Ulaanbaatar}",
    "MO":"{Asia/Macau}","MQ":"{America/Martinique}","MR":"{Africa/Nouakchott}","MS":"{America/Montserrat}",
    "MT":"{Europe/Malta}","MU":"{Indian/Mauritius}","MV":"{Indian/Maldives}","MW":"{Africa/Blantyre}",
    "MX":"{America/Cancun,America/Denver,America/Matamoros,America/Mazatlan,America/Mexico_City,America/Tijuana}",
    "MY":"{Asia/Kuala_Lumpur}","MZ":"{Africa/Maputo}","NA":"{Africa/Windhoek}","NC":"{Pacific/Noumea}",
    "NE":"{Africa/Niamey}","NF":"{Pacific/Norfolk}","NG":"{Africa/Lagos}","NI":"{America/Managua}",
    "NL":"{Europe/Amsterdam}","NO":"{Europe/Oslo}","NP":"{Asia/Kathmandu}","NR":"{Pacific/Nauru}",
    "NU":"{Pacific/Niue}","NZ":"{Pacific/Auckland,Pacific/Chatham}","OM":"{Asia/Muscat}","PA":"{America/Panama}",
    "PE":"{America/Lima}","PF":"{Pacific/Gambier,Pacific/Marquesas,Pacific/Tahiti}",
    "PG":"{Pacific/Bougainville,Pacific/Port_Moresby}","PH":"{Asia/Manila}","PK":"{Asia/Karachi}",
    "PL":"{Europe/Warsaw}","PM":"{America/Miquelon}","PN":"{Pacific/Pitcairn}","PS":"{Asia/Gaza}",
    "PT":"{Atlantic/Azores,Europe/Lisbon}","PW":"{Pacific/Palau}","PY":"{America/Asuncion}","QA":"{Asia/Qatar}",
    "RE":"{Indian/Reunion}","RO":"{Europe/Bucharest}","RS":"{Europe/Belgrade}",
    "RU":"{Asia/Almaty,Asia/Chita,Asia/Irkutsk,Asia/Kamchatka,Asia/Magadan,Asia/Novosibirsk,Asia/Omsk,Asia/Vladivostok,Asia/Yekaterinburg,Europe/Astrakhan,Europe/Kaliningrad,Europe/Moscow}",
    "UA":"{Europe/Kiev}","RW":"{Africa/Kigali}","SA":"{Asia/Riyadh}","SB":"{Pacific/Guadalcanal}",
    "SC":"{Indian/Mahe}","SD":"{Africa/Khartoum}","SE":"{Europe/Stockholm}","SG":"{Asia/Singapore}",
    "SH":"{Atlantic/St_Helena}","SI":"{Europe/Ljubljana}","SJ":"{Arctic/Longyearbyen}","SK":"{Europe/Bratislava}",
    "SL":"{Africa/Freetown}","SM":"{Europe/San_Marino}","SN":"{Africa/Dakar}","SO":"{Africa/Mogadishu}",
    "SR":"{America/Paramaribo}","SS":"{Africa/Juba}","ST":"{Africa/Sao_Tome}","SV":"{America/El_Salvador}",
    "SX":"{America/Lower_Princes}","SY":"{Asia/Damascus}","SZ":"{Africa/Mbabane}","TC":"{America/Grand_Turk}",
    "TD":"{Africa/Ndjamena}","TF":"{Indian/Kerguelen}","TG":"{Africa/Lome}","TH":"{Asia/Bangkok}",
    "TJ":"{Asia/Dushanbe}","TK":"{Pacific/Fakaofo}","TL":"{Asia/Dili}","TM":"{Asia/Ashgabat}","TN":"{Africa/Tunis}",
    "TO":"{Pacific/Tongatapu}","TR":"{Europe/Istanbul}","TT":"{America/Port_of_Spain}","TV":"{Pacific/Funafuti}",
    "TW":"{Asia/Taipei}","TZ":"{Africa/Dar_es_Salaam}","UG":"{Africa/Kampala}","UY":"{America/Montevideo}",
    "UZ":"{Asia/Samarkand}","VA":"{Europe/Vatican}","VC":"{America/St_Vincent}","VE":"{America/Caracas}",
    "VG":"{America/Tortola}","VN":"{Asia/Ho_Chi_Minh}","VU":"{Pacific/Efate}","WF":"{Pacific/Wallis}",
    "WS":"{Pacific/Apia}","YE":"{Asia/Aden}","YT":"{Indian/Mayotte}","ZA":"{Africa/Johannesburg}",
    "ZM":"{Africa/Lusaka}","ZW":"{Africa/Harare}"
    }'::jsonb ->> country)::text[]
$$;

create function calling_country(code text) returns text language sql immutable parallel safe as $$
  select '{
    "7":"RU","20":"EG","27":"ZA","30":"GR","31":"NL","32":"BE","33":"FR","34":"ES","36":"HU","39":"IT","40":"RO",
    "41":"CH","43":"AT","44":"GB","45":"DK","46":"SE","47":"NO","48":"PL","49":"DE","51":"PE","52":"MX","53":"CU",
    "54":"AR","55":"BR","56":"CL","57":"CO","58":"VE","60":"MY","61":"AU","62":"ID","63":"PH","64":"NZ","65":"SG",
    "66":"TH","81":"JP","82":"KR","84":"VN","86":"CN","90":"TR","91":"IN","92":"PK","93":"AF","94":"LK","95":"MM",
    "98":"IR","211":"SS","212":"MA","213":"DZ","216":"TN","218":"LY","220":"GM","221":"SN","222":"MR","223":"ML",
    "224":"GN","225":"CI","226":"BF","227":"NE","228":"TG","229":"BJ","230":"MU","231":"LR","232":"SL","233":"GH",
    "234":"NG","235":"TD","236":"CF","237":"CM","238":"CV","239":"ST","240":"GQ","241":"GA","242":"CG","243":"CD",
    "244":"AO","245":"GW","246":"IO","248":"SC","249":"SD","250":"RW","251":"ET","252":"SO","253":"DJ","254":"KE",
    "255":"TZ","256":"UG","257":"BI","258":"MZ","260":"ZM","261":"MG","262":"RE","263":"ZW","264":"NA","265":"MW",
    "266":"LS","267":"BW","268":"SZ","269":"KM","290":"SH","291":"ER","297":"AW","298":"FO","299":"GL","350":"GI",
    "351":"PT","352":"LU","353":"IE","354":"IS","355":"AL","356":"MT","357":"CY","358":"FI","359":"BG","370":"LT",
    "371":"LV","372":"EE","373":"MD","374":"AM","375":"BY","376":"AD","377":"MC","378":"SM","380":"UA","381":"RS",
    "382":"ME","385":"HR","386":"SI","387":"BA","389":"MK","420":"CZ","421":"SK","423":"LI","500":"FK","501":"BZ",
    "502":"GT","503":"SV","504":"HN","505":"NI","506":"CR","507":"PA","508":"PM","509":"HT","590":"GP","591":"BO",
    "592":"GY","593":"EC","594":"GF","595":"PY","596":"MQ","597":"SR","598":"UY","599":"CW","670":"TL","672":"NF",
    "673":"BN","674":"NR","675":"PG","676":"TO","677":"SB","678":"VU","679":"FJ","680":"PW","681":"WF","682":"CK",
    "683":"NU","685":"WS","686":"KI","687":"NC","688":"TV","689":"PF","690":"TK","691":"FM","692":"MH","850":"KP",
    "852":"HK","853":"MO","855":"KH","856":"LA","880":"BD","886":"TW","960":"MV","961":"LB","962":"JO","963":"SY",
    "964":"IQ","965":"KW","966":"SA","967":"YE","968":"OM","970":"PS","971":"AE","972":"IL","973":"BH","974":"QA",
    "975":"BT","976":"MN","977":"NP","992":"TJ","993":"TM","994":"AZ","995":"GE","996":"KG","998":"UZ"
    }'::jsonb ->> code
$$;

create function region_zones(region text) returns text[] language sql immutable parallel safe as $$
  select public.zone_set('{
    "US-AL":"C","US-AK":"KD","US-AZ":"ZM","US-AR":"C","US-CA":"P","US-CO":"M","US-CT":"E","US-DE":"E","US-DC":"E",
    "US-FL":"EC","US-GA":"E","US-HI":"H","US-ID":"MP","US-IL":"C","US-IN":"EC","US-IA":"C","US-KS":"CM",
    "US-KY":"EC","US-LA":"C","US-ME":"E","US-MD":"E","US-MA":"E","US-MI":"EC","US-MN":"C","US-MS":"C","US-MO":"C",
    "US-MT":"M","US-NE":"CM","US-NV":"PM","US-NH":"E","US-NJ":"E","US-NM":"M","US-NY":"E","US-NC":"E","US-ND":"CM",
    "US-OH":"E","US-OK":"C","US-OR":"PM","US-PA":"E","US-RI":"E","US-SC":"E","US-SD":"CM","US-TN":"EC","US-TX":"CM",
    "US-UT":"M","US-VT":"E","US-VA":"E","US-WA":"P","US-WV":"E","US-WI":"C","US-WY":"M","US-PR":"A","US-VI":"A",
    "US-GU":"G","US-AS":"S","US-MP":"G","CA-AB":"L","CA-BC":"VLZ","CA-MB":"W","CA-NB":"X","CA-NL":"NX","CA-NS":"X",
    "CA-PE":"X","CA-ON":"TWO","CA-QC":"TXA","CA-SK":"RL","CA-YT":"Y","CA-NT":"L","CA-NU":"QUIO"
    }'::jsonb ->> region)
$$;

create function postal_zones(postal_code text) returns text[] language sql immutable parallel safe as $$
  select public.zone_set('{
    "320":"E","321":"E","322":"E","323":"E","325":"C","326":"E","327":"E","328":"E","329":"E","330":"E","331":"E",
    "332":"E","333":"E","334":"E","335":"E","336":"E","337":"E","338":"E","339":"E","341":"E","342":"E","343":"E",
    "344":"E","345":"E","346":"E","347":"E","348":"E","349":"E","370":"C","371":"C","372":"C","374":"E","376":"E",
    "377":"E","378":"E","379":"E","380":"C","381":"C","382":"C","383":"C","384":"C","400":"E","401":"E","402":"E",
    "403":"E","404":"E","405":"E","406":"E","407":"E","408":"E","409":"E","410":"E","411":"E","412":"E","413":"E",
    "414":"E","415":"E","416":"E","417":"E","418":"E","419":"E","420":"C","422":"C","423":"C","424":"C","460":"E",
    "461":"E","462":"E","464":"C","467":"E","468":"E","470":"E","473":"E","474":"E","480":"E","481":"E","482":"E",
    "483":"E","484":"E","485":"E","486":"E","487":"E","488":"E","489":"E","490":"E","491":"E","492":"E","493":"E",
    "494":"E","495":"E","496":"E","497":"E","570":"C","571":"C","572":"C","573":"C","574":"C","580":"C","581":"C",
    "582":"C","583":"C","584":"C","660":"C","661":"C","662":"C","663":"C","664":"C","665":"C","666":"C","667":"C",
    "668":"C","669":"C","670":"C","671":"C","672":"C","673":"C","674":"C","675":"C","676":"C","680":"C","681":"C",
    "682":"C","683":"C","684":"C","685":"C","686":"C","687":"C","688":"C","689":"C","733":"C","750":"C","751":"C",
    "752":"C","753":"C","754":"C","755":"C","756":"C","757":"C","758":"C","759":"C","760":"C","761":"C","762":"C",
    "763":"C","764":"C","765":"C","766":"C","767":"C","768":"C","769":"C","770":"C","771":"C","772":"C","773":"C",
    "774":"C","775":"C","776":"C","777":"C","778":"C","779":"C","780":"C","781":"C","782":"C","783":"C","784":"C",
    "785":"C","786":"C","787":"C","790":"C","791":"C","792":"C","793":"C","794":"C","795":"C","796":"C","797":"C",
    "798":"M","799":"M","832":"M","833":"M","834":"M","836":"M","837":"M","850":"Z","851":"Z","852":"Z","853":"Z",
    "854":"Z","855":"Z","856":"Z","857":"Z","858":"Z","859":"Z","885":"M","889":"P","890":"P","891":"P","893":"P",
    "894":"P","895":"P","896":"P","897":"P","970":"P","971":"P","972":"P","973":"P","974":"P","975":"P","976":"P",
    "977":"P","978":"P","995":"K","996":"K","997":"K"
    }'::jsonb ->> left(postal_code, 3))
$$;

create function area_code_zones(place text) returns text[] language sql immutable parallel safe as $$
  select case when place like '% %' then public.zone_set(split_part(place, ' ', 2))
    else public.country_zones(place) end
$$;

-- Where a player is, of public facts: USPS's states and ZIP codes, NANPA's area codes, ITU's calling codes, IANA's
-- zones. A place with several zones has all of them. `US-FL`, `US`, `GB`; empty where nothing tells.
create function player_region(country text, state text, postal_code text, phone text) returns text
  language plpgsql immutable parallel safe as $$
declare
  home text := upper(country);
  named text := upper(btrim(state));
  is_american boolean := case when home is null then coalesce(phone like '+1%', true)
    else home in ('US', 'CA', 'PR', 'VI', 'GU', 'AS', 'MP') end;
  place text;
begin
  if not is_american then
    if home is null then
      home := coalesce(public.calling_country(substr(phone, 2, 1)), public.calling_country(substr(phone, 2, 2)),
        public.calling_country(substr(phone, 2, 3)), '');
    end if;
    return home || case when named ~ '^[A-Z0-9]{1,3}$' and home <> '' then '-' || named else '' end;
  end if;
  if home in ('PR', 'VI', 'GU', 'AS', 'MP') then
    return 'US-' || home;
  end if;
  if named is not null then
    place := '{
    "AL":"US-AL","ALABAMA":"US-AL","AK":"US-AK","ALASKA":"US-AK","AZ":"US-AZ","ARIZONA":"US-AZ","AR":"US-AR",
    "ARKANSAS":"US-AR","CA":"US-CA","CALIFORNIA":"US-CA","CO":"US-CO","COLORADO":"US-CO","CT":"US-CT",
    "CONNECTICUT":"US-CT","DE":"US-DE","DELAWARE":"US-DE","DC":"US-DC","DISTRICT OF COLUMBIA":"US-DC","FL":"US-FL",
    "FLORIDA":"US-FL","GA":"US-GA","GEORGIA":"US-GA","HI":"US-HI","HAWAII":"US-HI","ID":"US-ID","IDAHO":"US-ID",
    "IL":"US-IL","ILLINOIS":"US-IL","IN":"US-IN","INDIANA":"US-IN","IA":"US-IA","IOWA":"US-IA","KS":"US-KS",
    "KANSAS":"US-KS","KY":"US-KY","KENTUCKY":"US-KY","LA":"US-LA","LOUISIANA":"US-LA","ME":"US-ME","MAINE":"US-ME",
    "MD":"US-MD","MARYLAND":"US-MD","MA":"US-MA","MASSACHUSETTS":"US-MA","MI":"US-MI","MICHIGAN":"US-MI",
    "MN":"US-MN","MINNESOTA":"US-MN","MS":"US-MS","MISSISSIPPI":"US-MS","MO":"US-MO","MISSOURI":"US-MO",
    "MT":"US-MT","MONTANA":"US-MT","NE":"US-NE","NEBRASKA":"US-NE","NV":"US-NV","NEVADA":"US-NV","NH":"US-NH",
    "NEW HAMPSHIRE":"US-NH","NJ":"US-NJ","NEW JERSEY":"US-NJ","NM":"US-NM","NEW MEXICO":"US-NM","NY":"US-NY",
    "NEW YORK":"US-NY","NC":"US-NC","NORTH CAROLINA":"US-NC","ND":"US-ND","NORTH DAKOTA":"US-ND","OH":"US-OH",
    "OHIO":"US-OH","OK":"US-OK","OKLAHOMA":"US-OK","OR":"US-OR","OREGON":"US-OR","PA":"US-PA",
    "PENNSYLVANIA":"US-PA","RI":"US-RI","RHODE ISLAND":"US-RI","SC":"US-SC","SOUTH CAROLINA":"US-SC","SD":"US-SD",
    "SOUTH DAKOTA":"US-SD","TN":"US-TN","TENNESSEE":"US-TN","TX":"US-TX","TEXAS":"US-TX","UT":"US-UT",
    "UTAH":"US-UT","VT":"US-VT","VERMONT":"US-VT","VA":"US-VA","VIRGINIA":"US-VA","WA":"US-WA","WASHINGTON":"US-WA",
    "WV":"US-WV","WEST VIRGINIA":"US-WV","WI":"US-WI","WISCONSIN":"US-WI","WY":"US-WY","WYOMING":"US-WY",
    "PR":"US-PR","PUERTO RICO":"US-PR","VI":"US-VI","VIRGIN ISLANDS":"US-VI","GU":"US-GU","GUAM":"US-GU",
    "AS":"US-AS","AMERICAN SAMOA":"US-AS","MP":"US-MP","NORTHERN MARIANA ISLANDS":"US-MP","AB":"CA-AB",
    "ALBERTA":"CA-AB","BC":"CA-BC","BRITISH COLUMBIA":"CA-BC","MB":"CA-MB","MANITOBA":"CA-MB","NB":"CA-NB",
    "NEW BRUNSWICK":"CA-NB","NL":"CA-NL","NEWFOUNDLAND AND LABRADOR":"CA-NL","NS":"CA-NS","NOVA SCOTIA":"CA-NS",
    "PE":"CA-PE","PRINCE EDWARD ISLAND":"CA-PE","ON":"CA-ON","ONTARIO":"CA-ON","QC":"CA-QC","QUEBEC":"CA-QC",
    "SK":"CA-SK","SASKATCHEWAN":"CA-SK","YT":"CA-YT","YUKON":"CA-YT","NT":"CA-NT","NORTHWEST TERRITORIES":"CA-NT",
    "NU":"CA-NU","NUNAVUT":"CA-NU","PQ":"CA-QC","NF":"CA-NL","QUÉBEC":"CA-QC","YUKON TERRITORY":"CA-YT",
    "D.C.":"US-DC","WASHINGTON, D.C.":"US-DC","WASHINGTON DC":"US-DC"
    }'::jsonb ->> case when named ~ '^(US|CA)-' then substr(named, 4) else named end;
    if place is not null and (home is null or left(place, 2) = home) then
      return place;
    end if;
  end if;
  if postal_code ~ '^\d{5}' and (home = 'US' or phone like '+1%') and coalesce(home, 'US') = 'US' then
    place := 'US-' || nullif((array[
      '','NY','PR','VI','PR','MA','RI','NH','ME','VT','MA','VT','CT','NJ','','NY','PA','DE','DC','VA','DC','MD','VA',
      'WV','','NC','SC','GA','FL','','FL','AL','TN','MS','GA','KY','','OH','IN','MI','IA','','WI','MN','','DC','SD',
      '','ND','','MT','IL','MO','','KS','NE','','LA','','AR','OK','TX','OK','TX','CO','','WY','ID','','UT','','AZ','',
      'NM','TX','','NV','','CA','','HI','GU','OR','WA','AK'
      ])[1 + width_bucket(left(postal_code, 3)::int, array[
      5,6,8,9,10,28,30,39,50,55,56,60,70,90,100,150,197,200,201,202,206,220,247,269,270,290,300,320,340,341,350,370,
      386,398,400,428,430,460,480,500,529,530,550,568,569,570,578,580,589,590,600,630,659,660,680,694,700,715,716,730,
      733,734,750,800,817,820,832,839,840,848,850,866,870,885,886,889,899,900,962,967,969,970,980,995
      ])], '');
    if place is not null then
      return place;
    end if;
  elsif postal_code ~* '^[A-Z]\d[A-Z]' and (home = 'CA' or phone like '+1%') and coalesce(home, 'CA') = 'CA' then
    place := 'CA-' || ('{"A":"NL","B":"NS","C":"PE","E":"NB","G":"QC","H":"QC","J":"QC","K":"ON","L":"ON","M":"ON",
      "N":"ON","P":"ON","R":"MB","S":"SK","T":"AB","V":"BC","Y":"YT"}'::jsonb ->> upper(left(postal_code, 1)));
    if place is not null then
      return place;
    end if;
  end if;
  if phone like '+1%' then
    place := split_part(public.area_code_place(substr(phone, 3, 3)), ' ', 1);
    if home is null or left(place, 2) = home then
      return coalesce(place, '');
    end if;
  end if;
  return coalesce(home, '');
end $$;

-- The zones in which a player may be: the one that is given, else those of the state or postal code, else those
-- of the phone's area code. Empty where nothing tells: then it is the property's.
create function player_zones(timezone text, country text, state text, postal_code text, phone text) returns text[]
  language plpgsql immutable parallel safe as $$
declare
  american_phone boolean := coalesce(phone like '+1%', false);
  -- Without the area code: what a player's record states goes first.
  stated text;
  by_postal_code text;
  zones text[];
begin
  if timezone is not null then
    return array[timezone];
  end if;
  stated := public.player_region(country, state, postal_code, case when american_phone then '+1' else phone end);
  if stated ~ '^(US|CA)-' then
    zones := public.region_zones(stated);
    if postal_code is not null then
      by_postal_code := public.player_region(coalesce(country, left(stated, 2)), null, postal_code, null);
      if by_postal_code = stated then
        zones := coalesce(public.postal_zones(postal_code), zones);
      elsif by_postal_code ~ '^(US|CA)-' then
        zones := array(select distinct zone from unnest(zones || public.region_zones(by_postal_code)) zone order by 1);
      end if;
    end if;
    return zones;
  end if;
  if american_phone then
    zones := public.area_code_zones(public.area_code_place(substr(phone, 3, 3)));
  end if;
  return coalesce(zones, public.country_zones(left(stated, 2)), '{}');
end $$;

-- Computed by the database at each write, whoever writes, so that no face and no import can forget it.
alter table players
  add column zones text[] not null
    generated always as (player_zones(timezone, country, state, postal_code, phone)) stored,
  add column region text not null
    generated always as (player_region(country, state, postal_code, phone)) stored;

-- Node may know a zone that this server does not. Asking for it would break off a whole campaign.
create function known_zone(zone text, fallback text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return fallback;
end $$;

create table quiet_hours_rules (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  country text check (country ~ '^[A-Z]{2}$'),
  state text check (state is null or country is not null and state ~ '^[A-Z0-9]{1,3}$'),
  channel text[] not null default '{sms,voice}'
    check (channel <> '{}' and channel <@ '{sms,email,voice,push}'::text[]),
  days jsonb not null default '[0,1,2,3,4,5,6]' check (days <> '[]' and days <@ '[0,1,2,3,4,5,6]'),
  open_local text not null default '08:00' check (open_local ~ '^([01][0-9]|2[0-3]):[0-5][0-9]$'),
  close_local text not null default '21:00' check (close_local ~ '^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$'),
  action text not null default 'defer' check (action in ('defer', 'skip')),
  source_note text,
  effective_from date,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  check (open_local < close_local)
);

create table frequency_rules (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  channel text not null default 'any' check (channel in ('any', 'phone', 'sms', 'email', 'voice', 'push')),
  tag text,
  country text check (country ~ '^[A-Z]{2}$'),
  state text check (state is null or country is not null and state ~ '^[A-Z0-9]{1,3}$'),
  max_sends int not null default 1 check (max_sends between 1 and 1000),
  window_count int not null default 1 check (window_count > 0),
  window_unit text not null default 'day' check (window_unit in ('hour', 'day', 'week')),
  mode text not null default 'rolling' check (mode in ('rolling', 'calendar_player_tz')),
  is_active boolean not null default true,
  source_note text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  check (window_count * case window_unit when 'hour' then 1 when 'day' then 24 else 168 end <= 720)
);

alter table campaigns
  add column send_in_player_timezone boolean not null default false,
  add column throttle_per_minute int check (throttle_per_minute > 0),
  add column ignore_frequency_cap boolean not null default false,
  -- When it starts: before scheduled_at where the first players' clocks show that time earlier.
  add column fires_at timestamptz;

-- What a throttled campaign has claimed of late: one row a claim, which all processes count.
create table campaign_claims (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  campaign_id uuid not null,
  claimed_at timestamptz not null default clock_timestamp(),
  count int not null,
  primary key (property_id, id),
  foreign key (property_id, campaign_id) references campaigns
);
create index campaign_claims_campaign on campaign_claims (property_id, campaign_id, claimed_at);

-- The rules that a property starts with; from then on they are its own, to change as its counsel says.
create function seed_sending_rules(property uuid) returns void language sql as $$
  insert into quiet_hours_rules (property_id, country, state, days, open_local, close_local, source_note)
  select property, country, state, days::jsonb, opens, closes, note || ' Have counsel check.'
  from (values
    (null, null, '[0,1,2,3,4,5,6]', '08:00', '21:00', 'Our default where a country has no rule; no law.'),
    ('US', null, '[0,1,2,3,4,5,6]', '08:00', '21:00', 'TCPA, 47 CFR 64.1200(c)(1).'),
    ('US', 'CT', '[0,1,2,3,4,5,6]', '09:00', '20:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'FL', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'MD', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'MS', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'NJ', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'OK', '[0,1,2,3,4,5,6]', '08:00', '20:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'RI', '[1,2,3,4,5]', '09:00', '18:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'RI', '[0,6]', '10:00', '17:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'TX', '[1,2,3,4,5,6]', '09:00', '21:00', 'State law on telephone solicitation, from public summaries.'),
    ('US', 'TX', '[0]', '12:00', '21:00', 'State law on telephone solicitation, from public summaries.')
  ) as seed (country, state, days, opens, closes, note);
  insert into frequency_rules (property_id, channel, country, state, max_sends, window_count, window_unit, source_note)
  select property, 'phone', 'US', state, 3, 24, 'hour',
    'State law: three calls or texts in 24 hours on one subject; this counts all. Have counsel check.'
  from (values ('FL'), ('OK')) as seed (state);
$$;
select seed_sending_rules(id) from properties;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['quiet_hours_rules', 'frequency_rules', 'campaign_claims'] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy tenant on %I to app_property using (property_id = (select current_property()))'
      ' with check (property_id = (select current_property()))', tenant_table);
    execute format('create policy reader on %I for select to app_reader using (true)', tenant_table);
    execute format('grant select, insert, update, delete on %I to app_property', tenant_table);
    execute format('grant select on %I to app_reader', tenant_table);
  end loop;
  foreach tenant_table in array array['quiet_hours_rules', 'frequency_rules'] loop
    execute format('create index %I on %I (property_id, created_at, id)', tenant_table || '_created', tenant_table);
    execute format('create policy platform on %I for insert to app_system with check (true)', tenant_table);
    execute format('grant insert on %I to app_system', tenant_table);
  end loop;
end $$;
