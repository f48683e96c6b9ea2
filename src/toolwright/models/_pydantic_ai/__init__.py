"""Any model that pydantic-ai knows."""
