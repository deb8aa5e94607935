-- Imports: uploaded files, the jobs that read them, and their refused rows.

create table uploads (
  property_id uuid not null references properties,
  id uuid not null,
  filename text,
  size bigint not null default 0,
  complete boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);

create table upload_chunks (
  property_id uuid not null,
  upload_id uuid not null,
  seq int not null,
  bytes bytea not null,
  primary key (property_id, upload_id, seq),
  foreign key (property_id, upload_id) references uploads on delete cascade
);
alter table upload_chunks alter column bytes set storage external;

create table import_jobs (
  property_id uuid not null references properties,
  id uuid not null default uuid_v7(),
  type text not null default 'player_import' check (type in ('player_import')),
  status text not null default 'queued' check (status in ('queued', 'processing', 'completed', 'failed')),
  upload_id uuid,
  params jsonb not null,
  -- The person or key that requested the import, and so vouches for its consents.
  actor_type text not null check (actor_type in ('user', 'api_key', 'system')),
  actor_id uuid,
  status_url text not null,
  errors_url text not null,
  total int,
  processed int not null default 0,
  succeeded int not null default 0,
  failed int not null default 0,
  skipped int not null default 0,
  created_count int not null default 0,
  updated_count int not null default 0,
  error text,
  summary jsonb,
  started_at timestamptz,
  completed_at timestamptz,
  expires_at timestamptz not null default now() + interval '30 days',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (property_id, id)
);
create unique index import_jobs_upload on import_jobs (property_id, upload_id);
create index import_jobs_open on import_jobs (created_at) where status in ('queued', 'processing');
create index import_jobs_created on import_jobs (property_id, created_at, id);

create table import_errors (
  property_id uuid not null,
  job_id uuid not null,
  row int not null,
  seq int not null,
  "column" text,
  code text not null,
  message text not null,
  value text,
  -- json, because jsonb does not keep the cells in the order of the file.
  original_row json,
  primary key (property_id, job_id, row, seq),
  foreign key (property_id, job_id) references import_jobs on delete cascade
);

call isolate_tenants('uploads', 'upload_chunks', 'import_jobs', 'import_errors');

-- One job removes the leftovers of all properties' imports.
create policy platform on uploads to app_system using (true) with check (true);
create policy platform on import_jobs to app_system using (true) with check (true);
create policy platform on import_errors to app_system using (true) with check (true);
grant select, update, delete on uploads, import_jobs, import_errors to app_system;

-- An import fills a table faster than autovacuum looks at it. Without statistics the planner picks an index that
-- walks all players for each row. As analyze_members.
create function analyze_players() returns void language plpgsql security definer set search_path = public, pg_temp
  as $$
begin
  perform analyze_shard('players', 'property_id, id, player_id, email, phone, deleted_at');
  perform analyze_shard('suppressions', 'property_id, address_hash, reason, lifted_at');
end $$;
revoke execute on function analyze_players() from public;
grant execute on function analyze_players() to app_property;
