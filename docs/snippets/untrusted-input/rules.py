from toolwright import Agent, Rule, rules, tool


@tool
def send_mail(to: str, body: str) -> str:
    """Send a mail."""
    return "sent"


@tool
def pay(account: str, cents: int) -> str:
    """Pay somebody."""
    return "paid"


policy = rules(
    Rule.deny("pay", from_untrusted=True, reason="Accounts come from the address book."),
    Rule.ask(from_untrusted=True),
    otherwise="allow",
)
agent = Agent(name="clerk", tools=[send_mail, pay], policy=policy)
