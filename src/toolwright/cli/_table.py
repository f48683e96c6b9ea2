"""The table of commands: where each is, and what it is for."""

__all__ = ["ABOUT", "COMMANDS", "GROUPS", "overview"]

ABOUT = "Hands for AI agents: run, watch, try and serve them and their tools."
GROUPS = {
    "tools": "List, show and call tools from the shell.",
    "policy": "Rules about calls.",
    "config": "Agent files.",
    "sessions": "Stored sessions: list, show, answer, delete.",
    "tasks": "Durable tasks: list, show, answer, cancel, retry.",
    "models": "Models: what a real one can do.",
    "mcp": "Serve tools and agents over MCP.",
    "plugin": "Plugin executables.",
}
COMMANDS = {
    "run": ("_run:run", "Run a task and print the answer."),
    "chat": ("_run:chat", "Talk to an agent; watch and approve its calls."),
    "trust": ("_trust:trust", "Let commands run what a directory's files name."),
    "check": ("_tool_commands:check", "Look for what makes tools hard to use."),
    "lock": ("_policy:lock", "Write down how all tools from outside are."),
    "policy explain": ("_policy:policy_explain", "Say which rule decides about a call, and why."),
    "tools list": ("_tool_commands:tools_list", "List the agent's tools and their cost."),
    "tools show": ("_tool_commands:tools_show", "Show one tool as the model is told of it."),
    "tools call": ("_tool_commands:tools_call", "Call a tool as a model would."),
    "config schema": ("_config:config_schema", "Print the JSON Schema of agent.yaml."),
    "config check": ("_config:config_check", "Check an agent file."),
    "serve": ("_serve:serve", "Serve an agent over HTTP, with the web workbench."),
    "sessions list": ("_sessions:sessions_list", "List the sessions."),
    "sessions show": ("_sessions:sessions_show", "Show a session and what it waits for."),
    "sessions answer": ("_sessions:sessions_answer", "Answer a call, and go on with the session."),
    "sessions delete": ("_sessions:sessions_delete", "Delete sessions."),
    "worker": ("_worker:worker", "Work on durable tasks until interrupted."),
    "tasks list": ("_tasks:tasks_list", "List tasks."),
    "tasks show": ("_tasks:tasks_show", "Show a task and what it waits for."),
    "tasks dead": ("_tasks:tasks_dead", "List failed tasks and why each failed."),
    "tasks prune": ("_tasks:tasks_prune", "Forget tasks that ended long ago."),
    "tasks schedule": ("_schedules:tasks_schedule", "Start tasks by the clock."),
    "tasks schedules": ("_schedules:tasks_schedules", "List what starts by the clock."),
    "tasks unschedule": ("_schedules:tasks_unschedule", "Start nothing more by a schedule."),
    "tasks watch": ("_tasks:tasks_watch", "Watch the queue live."),
    "tasks cancel": ("_tasks:tasks_cancel", "Cancel a task."),
    "tasks retry": (
        "_tasks:tasks_retry",
        "Go on with a failed or cancelled task, or with all failed ones.",
    ),
    "tasks steer": ("_tasks:tasks_steer", "Put a message into a task."),
    "tasks answer": ("_tasks:tasks_answer", "Answer a call that a task waits for."),
    "models probe": ("_probe:models_probe", "Ask a model small questions; print what works."),
    "mcp serve": ("_mcp:mcp_serve", "Serve tools over MCP."),
    "plugin test": ("_plugin:plugin_test", "Run the conformance suite against a plugin."),
}


def overview() -> str:
    """What `toolwright --help` prints; the parser is not needed for it, which is slow to load."""
    alone = {words: text for words, (_, text) in COMMANDS.items() if " " not in words}
    rows = {
        **alone,
        **GROUPS,
        "--install-completion": "Completion for your shell.",
        "--version": "The version.",
        "--help, -h": "This text, or that of a command.",
    }
    width = max(map(len, rows)) + 2
    lines = [f"  {name:<{width}}{text}" for name, text in rows.items()]
    return "\n".join(
        [
            "Usage: toolwright COMMAND",
            "",
            ABOUT,
            "",
            *lines,
            "",
            "`toolwright COMMAND --help` says more.",
        ]
    )
