from toolwright import APIHubToolset


def hub_tools() -> APIHubToolset:
    return APIHubToolset(
        apihub_resource_name="projects/my-project/locations/us-central1/apis/petstore-api",
        tool_name_prefix="petstore",
    )
