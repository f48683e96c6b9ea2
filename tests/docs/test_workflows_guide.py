"""What the page on workflows shows, works."""

from tests.docs._snippets import run_snippet

PAGE = "workflows"


def test_a_pipeline_hands_each_output_to_the_next_step() -> None:
    found = run_snippet(PAGE, "pipeline")
    assert found["result"].text == "Bees dance."
    assert found["text_model"].requests[0].instructions.endswith("Outline: 1. Bees 2. Dance")


def test_side_by_side_gives_all_answers() -> None:
    output = run_snippet(PAGE, "side_by_side")["result"].output
    assert output == {"pros": "It is quick.", "cons": "It is loud."}


def test_a_loop_ends_when_the_critic_leaves_it() -> None:
    assert run_snippet(PAGE, "until_good")["result"].state["writer"] == "Bees dance."


def test_a_graph_follows_the_chosen_route() -> None:
    found = run_snippet(PAGE, "graph")
    assert found["results"] == ["Restarted it.", "filed: The logo is blue"]
    assert "triage -->|urgent| oncall" in found["support"].mermaid()
