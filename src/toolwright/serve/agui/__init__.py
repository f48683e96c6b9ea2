"""The AG-UI protocol, so that existing front ends connect to an agent."""

try:
    import ag_ui.core  # noqa: F401
except ImportError as error:
    raise ImportError("AG-UI needs an extra: pip install 'toolwright[agui]'") from error

from toolwright.serve.agui._route import AguiRoutes
from toolwright.serve.agui._translate import Translator

__all__ = ["AguiRoutes", "Translator"]
