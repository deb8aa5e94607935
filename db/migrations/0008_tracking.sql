-- What recipients did with their messages: opens and clicks, told apart from machines, without a row an open.

alter table properties add column tracking text not null default 'on' check (tracking in ('on', 'off'));

alter table campaigns add column utm jsonb;
alter table campaigns add column stats jsonb not null default '{}';

alter table campaign_sends add column opens int not null default 0;
alter table campaign_sends add column clicks int not null default 0;
alter table campaign_sends add column first_human_open_at timestamptz;
alter table campaign_sends add column first_human_click_at timestamptz;

-- The addresses that a campaign's links lead to: a link redirects to nothing else. Where an address differs from
-- recipient to recipient, `url` is its template, and the link's signed token brings the address itself.
create table campaign_links (
  property_id uuid not null,
  id uuid not null default uuid_v7(),
  campaign_id uuid not null,
  url text not null,
  url_hash bytea not null,
  is_template boolean not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  unique (property_id, campaign_id, url_hash),
  foreign key (property_id, campaign_id) references campaigns
);

-- One row for a link of a message that was clicked, however often.
create table campaign_clicks (
  property_id uuid not null,
  send_id uuid not null,
  link_id uuid not null,
  campaign_id uuid not null,
  clicks int not null default 0,
  last_clicked_at timestamptz not null default now(),
  -- The first click that no machine seems to have made.
  first_human_click_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, send_id, link_id),
  foreign key (property_id, send_id) references campaign_sends on delete cascade,
  foreign key (property_id, link_id) references campaign_links,
  foreign key (property_id, campaign_id) references campaigns
);
create index campaign_clicks_link on campaign_clicks (property_id, campaign_id, link_id);

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['campaign_links', 'campaign_clicks']
  loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy tenant on %I to app_property using (property_id = (select current_property()))'
      ' with check (property_id = (select current_property()))', tenant_table);
    execute format('create policy reader on %I for select to app_reader using (true)', tenant_table);
    execute format('grant select, insert, update, delete on %I to app_property', tenant_table);
    execute format('grant select on %I to app_reader', tenant_table);
  end loop;
end $$;
