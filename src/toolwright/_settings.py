"""Explain a wrong argument: which name was meant, and what other frameworks' names are called here."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, TypeVar, cast, get_type_hints, overload

from toolwright._expected import describe, fits, is_list, shown_value
from toolwright.errors import SettingError

__all__ = ["check_fields", "check_setting", "explain", "explained", "is_foreign", "near_names"]

F = TypeVar("F", bound=Callable[..., Any])

_SETTINGS = "settings=ModelSettings(…)"
_LIMITS = "limits=Limits(…)"
_HOOKS = "hooks=Hooks(…)"
_RUN = "run(prompt, deps=…)"
_STATE = "run(prompt, state=…)"
_SESSION = "Runner(agent).run(prompt, session_id=…)"
_WATCH = "stream(prompt), whose events show each step"
_CODE = "tools=[code_mode(…)]"
_TOOL = "require_confirmation"

# What people write who come from ADK, pydantic-ai, the OpenAI Agents SDK, LangChain, CrewAI,
# smolagents, agno or AutoGen, and what it is called here; of several, the one that fits the call.
_FOREIGN: Mapping[str, str | tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "instruction", "global_instruction", "static_instruction", "system", "system_message",
            "system_prompt", "system_template", "prompt", "prompt_template", "prompt_templates",
            "backstory", "goal", "role",
        ),
        "instructions",
    ),
    **dict.fromkeys(("llm", "llm_config", "model_name", "model_id", "model_client"), "model"),
    **dict.fromkeys(("functions", "toolsets", "toolkits", "builtin_tools"), "tools"),
    **dict.fromkeys(("filter", "allowed_tools", "include_tools"), "tool_filter"),
    "mcp_servers": "tools=[McpToolset(…)]",
    "mcps": "tools=[McpToolset(…)]",
    "knowledge": "tools=[load_memory]",
    "knowledge_sources": "tools=[load_memory]",
    "planner": "tools=todo_tools()",
    "planning": "tools=todo_tools()",
    "planning_interval": "tools=todo_tools()",
    **dict.fromkeys(
        (
            "children", "subagents", "agents", "managed_agents", "handoffs", "members", "team",
            "participants", "allow_delegation",
        ),
        "sub_agents",
    ),
    "handoff_description": "description",
    "description_override": "description",
    "name_override": "name",
    **dict.fromkeys(
        ("output_type", "result_type", "response_format", "response_model", "expected_output"),
        "output_schema",
    ),
    "input_type": "input_schema",
    "context_type": "deps_type",
    "context_schema": "deps_type",
    "deps": _RUN,
    "context": _RUN,
    "session_state": _STATE,
    "initial_state": _STATE,
    "state_schema": _STATE,
    "session_id": _SESSION,
    "user_id": _SESSION,
    "message_history": _SESSION,
    **dict.fromkeys(
        (
            "generate_content_config", "model_settings", "model_kwargs", "temperature", "top_p",
            "max_tokens",
            "tool_choice", "parallel_tool_calls",
        ),
        _SETTINGS,
    ),
    "reasoning_effort": ("reasoning", "settings=ModelSettings(reasoning=…)"),
    "reasoning": "settings=ModelSettings(reasoning=…)",
    "stop_sequences": ("stop", "settings=ModelSettings(stop=…)"),
    "usage_limits": _LIMITS,
    "run_config": _LIMITS,
    **dict.fromkeys(
        ("max_turns", "max_steps", "max_iter", "max_iterations", "recursion_limit", "request_limit"),
        ("turns", "limits=Limits(turns=…)"),
    ),
    "tool_call_limit": ("tool_calls", "limits=Limits(tool_calls=…)"),
    "tool_calls_limit": ("tool_calls", "limits=Limits(tool_calls=…)"),
    "total_tokens_limit": ("tokens", "limits=Limits(tokens=…)"),
    "max_execution_time": ("seconds", "limits=Limits(seconds=…)"),
    **dict.fromkeys(
        (
            "callbacks", "middleware", "guardrail", "guardrails", "input_guardrails",
            "output_guardrails", "final_answer_checks", "step_callback", "step_callbacks",
            "pre_hooks", "post_hooks", "tool_hooks",
        ),
        _HOOKS,
    ),
    **{
        f"{when}_{what}_callback": (f"{when}_{what}", f"hooks=Hooks({when}_{what}=…)")
        for when in ("before", "after")
        for what in ("agent", "model", "tool")
    },
    "plugins": "Runner(agent, hooks=Hooks(…))",
    **dict.fromkeys(
        ("verbose", "verbosity_level", "debug", "debug_mode", "show_tool_calls", "stream"), _WATCH
    ),
    "history_processors": "compaction=Compaction(…)",
    "code_executor": _CODE,
    "allow_code_execution": _CODE,
    "human_input_mode": "interrupt_on",
    "human_input": "interrupt_on",
    "interrupt_before": "interrupt_on",
    **dict.fromkeys(
        (
            "confirm", "confirmation", "needs_approval", "require_approval", "requires_approval",
            "requires_confirmation",
        ),
        _TOOL,
    ),
    "retries": "output_retries",
    "max_retries": ("retries", "output_retries"),
    **dict.fromkeys(("session_service", "checkpointer", "db", "storage"), "store"),
    "session": ("session_id", "store"),
    "artifact_service": "artifacts",
    "memory_service": "memory",
    "credential_service": "credentials",
    "db_url": "url",
    "redis_url": "url",
}  # fmt: skip
_SKIP = "Set tool_context.actions.skip_summarization in a tool whose result is the answer."
# What has no setting here, and how it is done instead.
_DONE_OTHERWISE = {
    "args_schema": "The parameters are those of the function: annotate them, or subclass BaseTool.",
    "end_strategy": "A run ends with the first reply that has no calls.",
    "output_key": "Take result.output, or write it to the state in hooks=Hooks(after_agent=…).",
    "return_direct": _SKIP,
    "strict": "Arguments are always validated; OpenAI's strict mode is used where the schema allows.",
    "tool_use_behavior": _SKIP,
}
# Where a setting belongs that people look for elsewhere; all others are the agent's.
_PLACE = {
    **dict.fromkeys(
        ("artifacts", "credentials", "memory", "store"), "the runner: Runner(agent, {}=…)"
    ),
    "url": "the orchestrator: Orchestrator({}=…)",
    "tool_filter": "a toolset: filtered(toolset, …) or McpToolset(…, {}=…)",
    _TOOL: "a tool: @tool({}=…)",
}

_WITHOUT_NAME = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@overload
def explained(func: F, /) -> F: ...
@overload
def explained(
    *, rest: Callable[..., Any] | None = None, values: bool = True
) -> Callable[[F], F]: ...
def explained(
    func: Any = None, /, *, rest: Callable[..., Any] | None = None, values: bool = True
) -> Any:
    """Let a call with a wrong, missing or misplaced argument say what is right.

    For the `__init__` of a public class, whose name errors then use, and for public functions. The
    signature stays as it is, for editors, type checkers and `inspect`. A function that hands its
    `**settings` on says to what, in `rest`; one that says itself what is wrong with its values has
    only their names looked at (`values=False`).
    """
    if func is None:
        return functools.partial(_explained, rest=rest, values=values)
    return _explained(func)


def _explained(func: F, rest: Callable[..., Any] | None = None, values: bool = True) -> F:
    own = inspect.signature(func).parameters
    handed_on = inspect.signature(rest).parameters if rest is not None else {}
    parameters = {
        name: parameter
        for name, parameter in {**own, **handed_on, **own}.items()
        if parameter.kind is not parameter.POSITIONAL_ONLY
        and (rest is None or parameter.kind is not parameter.VAR_KEYWORD)
    }
    positional = [k for k, v in own.items() if v.kind in _WITHOUT_NAME]
    required = {k for k, v in own.items() if v.default is v.empty and not _is_variadic(v)}

    @functools.cache
    def hints() -> Mapping[str, Any]:
        # Not before the first call: reading them takes longer than all the rest.
        return _hints(rest) | _hints(func) if rest is not None else _hints(func)

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        given = {**dict(zip(positional, args, strict=False)), **kwargs}
        problem = ""
        known = parameters.keys() | positional[: len(args)]
        if len(args) > len(positional) or not required <= given.keys() <= known:
            problem = _problem(_shown(func, args), parameters, own, args, kwargs)
        wrong = _wrong_type(given, parameters, hints()) if values and not problem else None
        if wrong is not None:
            problem = _misfit(_shown(func, args), wrong, given[wrong], hints()[wrong])
        if problem:
            raise SettingError(problem)

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return func(*args, **kwargs)

    @functools.wraps(func)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return await func(*args, **kwargs)

    # Who asks whether it is async gets the right answer.
    return cast(F, call_async if inspect.iscoroutinefunction(func) else call)


def _is_variadic(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)


def _shown(func: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """The name that was called: of the class, the function or the method."""
    if func.__name__ == "__init__":
        return type(args[0]).__name__
    is_method = next(iter(inspect.signature(func).parameters), "") == "self"
    return f"{type(args[0]).__name__}.{func.__name__}" if is_method else func.__name__


def _hints(func: Callable[..., Any]) -> dict[str, Any]:
    target = func.__init__ if isinstance(func, type) else func
    try:
        return get_type_hints(target)
    except NameError:  # a type that only the type checker can see, in quotes
        return {k: v for k, v in target.__annotations__.items() if not isinstance(v, str)}


def _wrong_type(
    given: Mapping[str, Any],
    parameters: Mapping[str, inspect.Parameter],
    hints: Mapping[str, Any],
) -> str | None:
    """The first argument whose value is not of its type."""
    for key, value in given.items():
        parameter = parameters.get(key)
        if key not in hints or parameter is None or _is_variadic(parameter):
            continue
        if value is not parameter.default and not fits(value, hints[key]):
            return key
    return None


def check_fields(thing: Any) -> None:
    """`SettingError` when a field of a dataclass is not what its class says.

    For values that are made often: they first look themselves whether all is as usual.
    """
    hints = _fields(type(thing))
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if not fits(value, hints[field.name]):
            raise SettingError(_misfit(type(thing).__name__, field.name, value, hints[field.name]))


@functools.cache
def _fields(cls: type) -> Mapping[str, Any]:
    return get_type_hints(cls)


def check_setting(name: str, key: str, value: Any, init: Callable[..., Any]) -> None:
    """`SettingError` when `value` is not what `init` of the class `name` takes as `key`."""
    parameter = inspect.signature(init).parameters[key]
    # What `*turns` says is about each of them, not about all.
    hint = Any if _is_variadic(parameter) else _hints(init).get(key, Any)
    if not fits(value, hint):
        raise SettingError(_misfit(name, key, value, hint))


def is_foreign(name: str) -> bool:
    """Whether another framework has a setting of that name, which is called otherwise here."""
    return name in _FOREIGN or name in _DONE_OTHERWISE


def _misfit(name: str, key: str, value: Any, hint: Any) -> str:
    wanted, found = describe(hint), shown_value(key, value)
    if is_list(hint) and not isinstance(value, list | tuple | set):
        shown = getattr(value, "__name__", None) or getattr(value, "name", None) or "…"
        return f"{key} takes a list: {key}=[{shown}]; got {found}."
    also = " Did you mean an instance of it?" if isinstance(value, type) else ""
    if wanted == "Runner" and hasattr(value, "sub_agents"):
        also = f" Make one of the agent: {name}(Runner(agent))."
    elif key == "media_type":
        also = " Where nothing is known of the bytes, it is 'application/octet-stream'."
    elif instead := _converted(key, value, hint):
        also = f" Write {instead}."
    return f"{name} takes {wanted} as {key!r}; got {found}.{also}"


def _converted(key: str, value: Any, hint: Any) -> str:
    """How to make of `value` what was expected, where that is plain."""
    if isinstance(value, str) and fits(b"", hint):
        return f"{key}=….encode() for text, {key}=base64.b64decode(…) for base64"
    if isinstance(value, bytearray | memoryview) and fits(b"", hint):
        return f"{key}=bytes(…)"
    if isinstance(value, bytes | bytearray) and fits("", hint):
        return f"{key}=….decode()"
    return f"{key}=str(…)" if isinstance(value, PurePath) and fits("", hint) else ""


def explain(name: str, known: Mapping[str, Any]) -> str:
    """What to write instead of the setting `name`, if that can be guessed: a sentence or nothing."""
    if name in _DONE_OTHERWISE:
        return f" {_DONE_OTHERWISE[name]}"
    foreign = _FOREIGN.get(name, name)
    names = (foreign,) if isinstance(foreign, str) else foreign
    meant = next((candidate for candidate in names if candidate in known), names[-1])
    if meant in known:
        return f" Here it is called {meant!r}." if meant != name else ""
    if meant in _PLACE:
        return f" It is a setting of {_PLACE[meant].format(meant)}."
    setting = meant.partition("=")[0]
    if meant != name and setting.isidentifier() and setting not in known:
        written = meant if meant != setting else f"{setting}=…"
        return f" It is a setting of the agent: Agent({written})."
    if meant != name:
        return f" Here it is written {meant}."
    near = near_names(name, known, cutoff=0.7)
    return f" Did you mean {near[0]!r}?" if near else ""


def near_names(name: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """Those of the known names that `name` nearly is, the nearest first."""
    import difflib  # noqa: PLC0415  only errors need it

    return difflib.get_close_matches(name, list(known), n=most, cutoff=cutoff)


def _problem(
    name: str,
    parameters: Mapping[str, inspect.Parameter],
    own: Mapping[str, inspect.Parameter],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> str:
    kinds = {key: parameter.kind for key, parameter in parameters.items()}
    known = {k: v for k, v in parameters.items() if k != "self" and not _is_variadic(v)}
    open_ended = inspect.Parameter.VAR_KEYWORD in kinds.values()
    wrong = [key for key in kwargs if key not in known]
    if wrong and not open_ended:
        hint = explain(wrong[0], known)
        return f"{name} has no setting {wrong[0]!r}.{hint} It takes: {', '.join(known)}."
    if inspect.Parameter.VAR_POSITIONAL in kinds.values():
        return ""
    positional = [k for k, v in own.items() if v.kind in _WITHOUT_NAME]
    if len(args) > len(positional):
        first = next((key for key in known if key not in positional), "")
        return (
            f"{name} takes its settings by name: {name}({first}=…); "
            f"got {shown_value(first, args[len(positional)])} without a name."
        )
    given = {*positional[: len(args)], *kwargs}
    missing = [k for k, v in known.items() if k in own and v.default is v.empty and k not in given]
    return f"{name} needs {missing[0]!r}: {name}({missing[0]}=…)." if missing else ""
