import anyio

from toolwright import Agent
from toolwright.serve.mcp import McpServer, mcp_http_app, new_token, serve_http
from toolwright.testing import ScriptedModel

model = ScriptedModel("Mild, with some rain.")  # or: "openai:gpt-5-mini"
agent = Agent(name="forecaster", description="Knows the weather.", model=model)
server = McpServer(agent)

token = new_token()
app = mcp_http_app(server, token=token)  # for a server of your own, such as uvicorn

if __name__ == "__main__":
    print(f"Authorization: Bearer {token}")
    anyio.run(lambda: serve_http(server, port=8766, token=token))
