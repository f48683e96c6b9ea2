import anyio

from toolwright.testing import PluginUnderTest, plugin_report

plugin = PluginUnderTest(path="examples/plugins/notes.py", calls={"list_notes": {}})
report = anyio.run(plugin_report, plugin)
for check in report:
    print("ok" if check.ok else check.problem, "-", check.about)
