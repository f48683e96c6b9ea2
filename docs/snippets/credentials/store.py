from toolwright import Agent, Runner
from toolwright.backends import SqliteCredentials, new_key
from toolwright.testing import ScriptedModel

agent = Agent(name="aide", model=ScriptedModel())
runner = Runner(agent, store="sqlite:///aide.db", credentials="sqlite:///credentials.db")

old_key, key = new_key(), new_key()  # in production: from where you keep such things
rotating = Runner(agent, credentials=SqliteCredentials("credentials.db", keys=[key, old_key]))
print(rotating.services.credentials)
