-- Whoever is erased is looked for in the results of validations by their address.
create index validation_results_email on validation_results (property_id, email);
