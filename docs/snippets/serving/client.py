import json

import httpx2


async def approve_everything(address: str, message: str) -> str:
    async with httpx2.AsyncClient(base_url=address, timeout=60) as http:
        session = (await http.post("/api/sessions", json={})).json()["id"]
        path = f"/api/sessions/{session}"
        await http.post(f"{path}/runs", json={"message": message})
        async with http.stream("GET", f"{path}/stream") as events:
            async for line in events.aiter_lines():
                if not line.startswith("data: "):
                    continue
                event = json.loads(line.removeprefix("data: "))
                if event["type"] == "pending_opened":
                    call_id = event["pending"]["call_id"]
                if event["type"] == "run_ended" and event["status"] == "paused":
                    answer = {"call_id": call_id, "answer": {"kind": "approve"}}
                    await http.post(f"{path}/answers", json=answer)
                elif event["type"] == "run_ended":
                    return event["text"]
    raise ConnectionError("The stream ended before the run did.")
