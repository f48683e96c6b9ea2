"""Programs whose words need more than a table: each has a reader of its own."""
