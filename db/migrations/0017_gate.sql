-- What an address was sent, by whichever player had it then: vendors tell of it, and rules count it.
create index campaign_sends_address on campaign_sends (property_id, address_hash);
