"""The durable budget: data sets, accounts, immutable entries, and a balance that is a fold over them."""
