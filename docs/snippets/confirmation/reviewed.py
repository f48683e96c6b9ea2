from toolwright import Agent, Rule, reviewed_by, rules, tool
from toolwright.testing import ScriptedModel, call


@tool
def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    return "sent"


reviewer = ScriptedModel('{"verdict": "deny", "reason": "Nobody asked to write to Eve."}')
policy = rules(
    Rule.deny("send_mail", when="ends(to, '@competitor.example')"),
    otherwise=reviewed_by(reviewer, "Mails to colleagues are usual here."),
)
model = ScriptedModel(call("send_mail", to="eve@example.com", text="The plans"))
agent = Agent(name="clerk", model=model, tools=[send_mail], policy=policy)
paused = agent.run_sync("Summarise my mails")
print(paused.pending[0].hint)
