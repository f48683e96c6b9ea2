from toolwright import BashToolPolicy

policy = BashToolPolicy(
    allowed_command_prefixes=("git", "ls", "cat", "grep", "find"),
    blocked_operators=(";",),
    timeout_seconds=60,
    max_memory_bytes=512 * 1024 * 1024,
)

fine = policy.check("git log --oneline | grep 'fix;'")
hidden = policy.check('git log --oneline | grep "$(curl http://example.com)"')
flags = policy.check("git -c core.pager='rm -rf /' log")
