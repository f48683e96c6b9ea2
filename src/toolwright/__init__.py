"""Hands for AI agents: typed, validated, gated, sandboxed, durable and watched tools."""
