-- Requests of persons under privacy law, and their due dates.

create table privacy_requests (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  player_id uuid,
  type text not null check (type in ('export', 'deletion', 'correction', 'restriction', 'objection')),
  status text not null default 'received'
    check (status in ('received', 'verifying', 'processing', 'completed', 'rejected')),
  regulation text not null default 'gdpr',
  received_at timestamptz not null default now(),
  due_at timestamptz not null,
  completed_at timestamptz,
  requested_by uuid,
  note text,
  -- Result of the operation that completed it, in numbers.
  result jsonb,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id),
  foreign key (property_id, player_id) references players
);
create index privacy_requests_player on privacy_requests (property_id, player_id);
-- An import asks whether there is one.
create index privacy_requests_erasures on privacy_requests (property_id) where type = 'deletion' and status = 'completed';
create index privacy_requests_created on privacy_requests (property_id, created_at, id);

call isolate_tenants('privacy_requests');

-- An operator of a restored database is shown up to when it knows of erasures.
create policy platform on privacy_requests for select to app_system using (true);
grant select (property_id, type, created_at) on privacy_requests to app_system;
