"""All that is simulated, by name."""

from tests.simulation._held_scenarios import (
    busy_holder,
    held_session,
    silent_holder,
    told_once,
)
from tests.simulation._rebirth_scenarios import begun_anew, pruned_while_answered
from tests.simulation._session_scenarios import (
    approvals_elsewhere,
    budget_over_resumes,
    deferred_answers,
    parallel_payments,
    payments_by_sub_agents,
    rival_runs,
    shared_counts,
    state_writes,
    two_questions,
    workflow_nodes,
)
from tests.simulation._store_scenarios import credential_race, group_commit
from tests.simulation._task_scenarios import (
    cancelled_parent,
    cancelled_while_answered,
    child_tasks,
    deferred_death,
    restarted_workers,
    steering_and_cancel,
    stopped_worker,
    tasks_on_workers,
    workflow_tasks,
)

from toolwright.testing.simulation import Scenario

SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        approvals_elsewhere,
        begun_anew,
        budget_over_resumes,
        busy_holder,
        cancelled_parent,
        cancelled_while_answered,
        child_tasks,
        credential_race,
        deferred_answers,
        deferred_death,
        group_commit,
        held_session,
        parallel_payments,
        payments_by_sub_agents,
        pruned_while_answered,
        restarted_workers,
        rival_runs,
        shared_counts,
        silent_holder,
        state_writes,
        steering_and_cancel,
        stopped_worker,
        tasks_on_workers,
        told_once,
        two_questions,
        workflow_nodes,
        workflow_tasks,
    )
}
