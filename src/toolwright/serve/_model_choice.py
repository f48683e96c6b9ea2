"""A model that people choose on the page, from those that the server offers."""

from collections.abc import Callable
from dataclasses import dataclass

from toolwright._sealed import Sealed, sealed
from toolwright.errors import UsageError
from toolwright.messages import ModelMessage
from toolwright.models import Model, ModelRequest, OnDelta

__all__ = ["ModelChoice", "ModelOffer"]


@sealed
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOffer:
    """One model to choose.

    Args:
        title: How the page names it.
        make: Makes the model; not called before somebody chooses it.
        notice: What everyone must know while it is chosen, such as what it costs.
    """

    title: str
    make: Callable[[], Model]
    notice: str = ""


class ModelChoice(Sealed):
    """Answers with the offer that was chosen last, at first the first one; for the whole server.

    Give it to the agent as its model, and to `create_app` as `models`.
    """

    def __init__(self, *offers: ModelOffer) -> None:
        if not offers:
            raise UsageError("A choice of models needs at least one offer.")
        self.offers = offers
        self.chosen = offers[0]
        self._model = offers[0].make()

    @property
    def name(self) -> str:
        """The chosen model's name."""
        return self._model.name

    def choose(self, title: str) -> None:
        """Answer with the offer of this title from the next turn on."""
        offer = next((offer for offer in self.offers if offer.title == title), None)
        if offer is None:
            known = ", ".join(repr(offer.title) for offer in self.offers)
            raise UsageError(f"No model {title!r} is offered; choose one of {known}.")
        self._model = offer.make()
        self.chosen = offer

    async def respond(self, request: ModelRequest, on_delta: OnDelta | None = None) -> ModelMessage:
        """The chosen model's next turn."""
        return await self._model.respond(request, on_delta)
