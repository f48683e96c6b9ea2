from toolwright import McpToolset, with_trust
from toolwright.tools import FunctionTool, reshaped


def customer_notes(customer: str) -> str:
    """Read what a customer has written to us."""
    return "…"


def next_invoice_number() -> str:
    """Get the number of the next invoice."""
    return "2026-0117"


tools = [
    FunctionTool(customer_notes, effects="read", trust="untrusted"),  # others have written them
    FunctionTool(next_invoice_number, effects="read"),  # our own: trusted
    McpToolset("https://mcp.example/mcp"),  # from outside: untrusted
    McpToolset("http://127.0.0.1:9000/mcp", trust="trusted"),  # a server that is ours
    reshaped([next_invoice_number], lambda tool: with_trust(tool, "untrusted")),
]
