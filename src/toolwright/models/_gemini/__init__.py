"""Google: the Gemini API and Vertex AI."""
