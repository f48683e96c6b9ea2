"""All that is simulated, by name."""

from tests.simulation._held_scenarios import held_session
from tests.simulation._session_scenarios import (
    approvals_elsewhere,
    budget_over_resumes,
    deferred_answers,
    parallel_payments,
    payments_by_sub_agents,
    rival_runs,
    state_writes,
    two_questions,
    workflow_nodes,
)
from tests.simulation._store_scenarios import credential_race, group_commit
from tests.simulation._task_scenarios import (
    child_tasks,
    deferred_death,
    steering_and_cancel,
    tasks_on_workers,
)

from toolwright.testing.simulation import Scenario

SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        approvals_elsewhere,
        budget_over_resumes,
        child_tasks,
        credential_race,
        deferred_answers,
        deferred_death,
        group_commit,
        held_session,
        parallel_payments,
        payments_by_sub_agents,
        rival_runs,
        state_writes,
        steering_and_cancel,
        tasks_on_workers,
        two_questions,
        workflow_nodes,
    )
}
