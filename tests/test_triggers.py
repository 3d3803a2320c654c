"""Triggers of the site's that refuse what the engine writes of one job: the others go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import override_settings

from jobs import leases
from jobs.models import Job, JobRun
from jobs.states import State
from tests.jobs import noop
from tests.leasing import claim, silence
from tests.working import burst

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the trigger is PostgreSQL's"),
]

TRIGGER = """
CREATE FUNCTION refuse_job() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'not on a Sunday'; END $$;
CREATE TRIGGER refuse_job BEFORE UPDATE ON jobs_job FOR EACH ROW
  WHEN (OLD.queue = 'refused' AND NEW.state = '{state}') EXECUTE FUNCTION refuse_job()
"""


@pytest.fixture
def refused_state(request: pytest.FixtureRequest) -> Iterator[None]:
    """Jobs of the queue "refused" cannot get into the state that is asked for."""
    with connection.cursor() as cursor:
        cursor.execute(TRIGGER.format(state=request.param))
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION refuse_job CASCADE")


@override_settings(JOBS={"POLL_SECONDS": 0.05})
@pytest.mark.parametrize("refused_state", ["succeeded"], indirect=True)
def test_a_refused_success_is_a_failure_of_its_job_alone(refused_state: None) -> None:
    good = [noop.enqueue() for _ in range(5)]
    bad = noop.using(queue="refused").enqueue()

    assert burst() == 0

    assert Job.objects.succeeded().count() == len(good)
    bad.refresh_from_db()
    assert bad.state == State.DEAD
    assert "not on a Sunday" in JobRun.objects.get(job=bad).message


@pytest.mark.parametrize("refused_state", ["pending"], indirect=True)
def test_a_refused_rescue_keeps_no_other_waiting(refused_state: None) -> None:
    noop.using(queue="refused", priority=50).enqueue()
    good = [noop.enqueue().pk for _ in range(3)]
    silence(*(one.lease for one in claim()))

    assert sorted(one.lease.job_id for one in leases.rescue(using="default")) == good
