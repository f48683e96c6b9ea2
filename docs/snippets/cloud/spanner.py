from toolwright import Agent, QueryResultMode, SpannerToolset, SpannerToolSettings


def sql_assistant(model: str) -> Agent:
    settings = SpannerToolSettings(
        max_executed_query_result_rows=50,
        query_result_mode=QueryResultMode.DICT_LIST,
    )
    return Agent(
        name="sql_assistant",
        model=model,
        instructions="List the tables and look at their schemas before you write a query.",
        tools=[SpannerToolset(spanner_tool_settings=settings)],
    )
