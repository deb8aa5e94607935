-- The look of the pages and mails that players see.

-- One row a property that has set a theme. `light` and `dark` have the same eight colours.
create table property_theme (
  property_id uuid primary key references properties,
  name text,
  logo text,
  language text not null default 'en' check (language in ('en', 'es', 'fr', 'de', 'zh')),
  responsible_gaming_url text,
  join_url text,
  typeface text not null default 'system' check (typeface in ('system', 'serif', 'humanist', 'geometric')),
  light jsonb not null,
  dark jsonb not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

call isolate_tenants('property_theme');
