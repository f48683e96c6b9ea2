"""OpenAI, and servers that speak its protocols."""
