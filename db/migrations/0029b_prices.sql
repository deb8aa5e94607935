-- What a provider's messages cost, as the operator has agreed it. Null: nobody has said.
alter table message_providers
  -- Of one message; of texts, of one segment.
  add column unit_price double precision check (unit_price >= 0),
  add column price_currency text check (price_currency ~ '^[A-Z]{3}$'),
  add check (unit_price is null or price_currency is not null);
