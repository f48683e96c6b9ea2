import tempfile

from toolwright import ExecuteBashTool
from toolwright.backends import LocalExecutor

workspace = tempfile.mkdtemp()
walled = ExecuteBashTool(workspace=workspace)
on_machine = ExecuteBashTool(workspace=workspace, executor=LocalExecutor(workspace))

confined = walled.executor.capabilities.filesystem_confined
told = [tool.as_tool().description for tool in (walled, on_machine)]
