from toolwright import ApplicationIntegrationToolset


def order_tools() -> ApplicationIntegrationToolset:
    return ApplicationIntegrationToolset(
        project="my-gcp-project",
        location="us-central1",
        integration="order-processor",
        triggers=["api_trigger/process_order"],
        tool_name_prefix="order_",
        tool_instructions="Use these tools to manage orders.",
    )


def crm_tools() -> ApplicationIntegrationToolset:
    return ApplicationIntegrationToolset(
        project="my-gcp-project",
        location="us-central1",
        connection="salesforce-prod",
        entity_operations={"Account": ["LIST", "GET", "CREATE"], "Opportunity": []},
        actions=["QueryRecords"],
        tool_name_prefix="sf_",
    )
