from toolwright import format_size, truncate_head, truncate_tail

log = "".join(f"line {number}\n" for number in range(10_000))
head = truncate_head(log, max_bytes=1000, max_lines=50)
tail = truncate_tail(log)

print(f"{head.text}\n[cut by {head.cut_by}, {format_size(head.total_bytes)} in all]")
