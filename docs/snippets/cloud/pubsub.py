from toolwright import Agent, PubSubToolConfig, PubSubToolset


def event_router(model: str, project: str) -> Agent:
    toolset = PubSubToolset(
        tool_filter=["publish_message", "pull_messages"],
        pubsub_tool_config=PubSubToolConfig(project_id=project),
    )
    return Agent(
        name="event_router",
        model=model,
        instructions="Publish and consume messages as you are told.",
        tools=[toolset],
    )
