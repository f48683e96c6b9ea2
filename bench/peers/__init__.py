"""One file per framework. Each has the same two functions, and nothing else is asked of it:

`build(functions, script)` gives an agent that has the functions as tools, as a function that runs it
once and returns its final text; `schemas(functions)` gives the JSON Schema of each function, made the
way the framework makes it. `PACKAGE` is what its version is asked of; `SYNC_ONLY = True` says that
it cannot run an async function as a tool.
"""
