"""The table of moves, and that a row makes a move only from where the table says."""

from __future__ import annotations

from typing import Any

import pytest

from jobs import clock, states
from jobs.models import Job
from jobs.states import FINAL, LIVE, MOVES, Move, State
from tests.jobs import noop


def changes_for(state: str) -> dict[str, Any]:
    """Return the columns that the check constraints want beside ``state``."""
    return {
        "lease_expires_at": clock.in_seconds(30) if state == State.RUNNING else None,
        "finished_at": clock.now() if state in FINAL else None,
    }


def job_in(state: State) -> Job:
    job = noop.enqueue()
    Job.objects.filter(pk=job.pk).update(state=state, **changes_for(state))
    return job


def test_a_state_is_either_live_or_final() -> None:
    assert set(LIVE) | set(FINAL) == set(State)
    assert not set(LIVE) & set(FINAL)
    assert {state for state in State if state.is_final} == set(FINAL)


def test_moves_have_names_of_their_own() -> None:
    assert len({move.name for move in MOVES}) == len(MOVES)


def test_a_running_job_can_only_be_reached_by_a_claim() -> None:
    assert [move for move in MOVES if move.target == State.RUNNING] == [states.CLAIM]
    assert states.CLAIM.sources == (State.PENDING,)


def test_a_succeeded_job_never_moves_again() -> None:
    assert [move for move in MOVES if State.SUCCEEDED in move.sources] == []


def test_every_exit_from_running_but_the_final_ones_yields_to_a_cancel() -> None:
    exits = [move for move in MOVES if State.RUNNING in move.sources]

    assert {move.name for move in exits if move.yields} == {"back_off", "snooze", "release", "rescue"}
    assert all(move.yields is not move.target.is_final for move in exits)
    assert not any(move.yields for move in MOVES if move not in exits)


@pytest.mark.django_db
@pytest.mark.parametrize("state", State, ids=str)
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.name)
def test_a_move_is_made_from_its_sources_only(move: Move, state: State) -> None:
    job = job_in(state)
    allowed = state in move.sources

    moved = Job.objects.filter(pk=job.pk).move(move, **changes_for(move.target))

    job.refresh_from_db()
    assert moved == allowed
    assert job.state == (move.target if allowed else state)


@pytest.mark.django_db
@pytest.mark.parametrize("move", [move for move in MOVES if State.RUNNING in move.sources], ids=lambda move: move.name)
def test_a_requested_cancel_decides_where_a_yielding_move_ends(move: Move) -> None:
    job = job_in(State.RUNNING)
    Job.objects.filter(pk=job.pk).update(cancel_requested_at=clock.now())
    end = State.CANCELLED if move.yields else move.target

    Job.objects.filter(pk=job.pk).move(move, **changes_for(end))

    job.refresh_from_db()
    assert job.state == end
