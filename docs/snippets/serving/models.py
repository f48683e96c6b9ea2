from toolwright import Agent, Runner
from toolwright.models import resolve_model
from toolwright.serve import ModelChoice, ModelOffer, create_app
from toolwright.testing import ScriptedModel

models = ModelChoice(
    ModelOffer(
        title="A recording", make=lambda: ScriptedModel("Hello."), notice="Nothing is sent."
    ),
    ModelOffer(
        title="GPT-5 mini",
        make=lambda: resolve_model("openai:gpt-5-mini"),
        notice="What you write is sent to OpenAI, and costs money.",
    ),
)
runner = Runner(Agent(name="clerk", model=models), app_name="clerk")
app = create_app(runner, models=models)
