-- Consents by the end that they were given with.
create index consent_records_expiry on consent_records (property_id, expires_at)
  where action = 'granted' and expires_at is not null;
