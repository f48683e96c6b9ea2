"""The variables of the environment that hold the keys of models' providers."""

__all__ = ["MODEL_KEYS"]

MODEL_KEYS = frozenset(
    {
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "LLAMACPP_API_KEY",
        "LMSTUDIO_API_KEY",
        "OLLAMA_API_KEY",
        "OPENAI_API_KEY",
        "OPENROUTER_API_KEY",
        "VLLM_API_KEY",
    }
)
"""They are for the providers alone: no file may have them sent elsewhere."""
