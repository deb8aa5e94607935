-- A player's region and time zones, by the tables of 0006_places.sql. A place with several zones has all of them.

-- `US-FL`, `US`, `GB`; empty where the region is unknown.
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
    place := public.postal_region(left(postal_code, 3));
    if place is not null then
      return place;
    end if;
  elsif postal_code ~* '^[A-Z]\d[A-Z]' and (home = 'CA' or phone like '+1%') and coalesce(home, 'CA') = 'CA' then
    place := coalesce(public.postal_region(upper(left(postal_code, 3))),
      public.postal_region(upper(left(postal_code, 1))));
    if place is not null then
      return place;
    end if;
  end if;
  if phone like '+1%' then
    place := public.area_code_region(substr(phone, 3, 3));
    if home is null or left(place, 2) = home then
      return coalesce(place, '');
    end if;
  end if;
  return coalesce(home, '');
end $$;

-- The possible zones of a player: the given zone, else those of the state or postal code, else those of the phone's
-- area code. Empty where none is known: then the property's zone counts.
create function player_zones(timezone text, country text, state text, postal_code text, phone text) returns text[]
  language plpgsql immutable parallel safe as $$
declare
  american_phone boolean := coalesce(phone like '+1%', false);
  -- The region without the area code: a player's own record takes precedence.
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
    zones := public.area_code_zones(substr(phone, 3, 3));
  elsif country is null then
    zones := coalesce(public.calling_zones(substr(phone, 2, 1)), public.calling_zones(substr(phone, 2, 2)),
      public.calling_zones(substr(phone, 2, 3)));
  end if;
  return coalesce(zones, public.country_zones(left(stated, 2)), '{}');
end $$;

-- Node may know a zone that this server does not. An unknown zone would stop a whole campaign.
create function known_zone(zone text, fallback text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return fallback;
end $$;
