"""What the framework itself costs, beside a bare loop and beside other frameworks."""
