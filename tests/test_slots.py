"""What a schedule does with the slots that have come: the pure part."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs import cron, slots
from jobs.slots import CatchUp, Overlap, Policy, Reason, Skipped

pytestmark = pytest.mark.once

T0 = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
EVERY_MINUTE = cron.rule_for(every=60)

policies = st.builds(
    Policy,
    catch_up=st.sampled_from(CatchUp),
    limit=st.integers(1, 20),
    window=st.integers(0, 5_000).map(lambda seconds: timedelta(seconds=seconds)),
    ends_at=st.none() | st.integers(-5_000, 5_000).map(lambda seconds: T0 + timedelta(seconds=seconds)),
)
rules = st.integers(1, 900).map(lambda every: cron.rule_for(every=every)) | st.sampled_from(
    [cron.rule_for(expression=text) for text in ("* * * * *", "*/7 * * * *", "3,4,50 * * * *", "0 0 * * *")]
)
lengths = st.integers(1, 20_000_000).map(lambda millis: timedelta(milliseconds=millis))


@given(rules, policies, lengths)
def test_every_slot_runs_or_says_why_not(rule: cron.Timetable, policy: Policy, away: timedelta) -> None:
    since, until = T0 - away, T0 if policy.ends_at is None else min(T0, policy.ends_at)

    turn = slots.turn(rule, policy, since=since, now=T0)

    accounted = len(turn.due) + sum(one.count for one in turn.skipped if one.reason is not Reason.ENDED)
    assert accounted == rule.count(since, until)
    assert turn.due == sorted(set(turn.due))
    assert all(since < slot <= until for slot in turn.due)
    assert turn.seen_until == rule.latest(since, until)


@given(rules, policies, lengths)
def test_the_next_slot_is_after_now_and_within_the_end(rule: cron.Timetable, policy: Policy, away: timedelta) -> None:
    turn = slots.turn(rule, policy, since=T0 - away, now=T0)

    first = rule.after(T0)
    is_over = policy.ends_at is not None and first is not None and first > policy.ends_at
    assert turn.next_slot == (None if is_over else first)
    assert [one.reason for one in turn.skipped].count(Reason.ENDED) == is_over


@given(rules, policies, lengths)
def test_two_turns_do_what_one_would_have_seen(rule: cron.Timetable, policy: Policy, away: timedelta) -> None:
    middle = T0 - away / 2
    first = slots.turn(rule, policy, since=T0 - away, now=middle)
    second = slots.turn(rule, policy, since=first.seen_until or T0 - away, now=T0)

    assert not set(first.due) & set(second.due)


def test_the_slot_that_the_end_kept_from_running_is_the_first_after_it() -> None:
    turn = slots.turn(EVERY_MINUTE, Policy(ends_at=T0 + 5 * MINUTE), since=T0, now=T0 + timedelta(days=9))

    assert turn.skipped[-1] == Skipped(reason=Reason.ENDED, first=T0 + 6 * MINUTE, last=T0 + 6 * MINUTE)


def test_lateness_does_not_add_up() -> None:
    since, moment, ran = T0, T0, []
    for number in range(1, 61):
        moment = T0 + number * MINUTE + timedelta(seconds=0.7 * number % 59)
        turn = slots.turn(EVERY_MINUTE, Policy(), since=since, now=moment)
        ran += turn.due
        since = turn.seen_until or since

    assert ran == [T0 + number * MINUTE for number in range(1, 61)]


def test_an_edit_runs_nothing_and_counts_what_was_paused() -> None:
    turn = slots.plan(EVERY_MINUTE, Policy(), since=T0, paused_at=T0 - timedelta(days=3))

    assert turn.due == []
    assert turn.next_slot == T0 + MINUTE
    (skipped,) = turn.skipped
    assert (skipped.reason, skipped.count, skipped.last) == (Reason.PAUSED, 3 * 1_440, T0)


@given(st.sampled_from(Overlap), st.integers(0, 4), st.booleans(), st.booleans())
def test_every_due_slot_starts_waits_or_is_skipped(overlap: Overlap, due: int, is_busy: bool, waits: bool) -> None:  # noqa: FBT001
    waiting = T0 if waits else None
    moments = [T0 + number * MINUTE for number in range(1, due + 1)]

    placement = slots.place(moments, overlap, is_busy=is_busy, waiting=waiting)

    kept = [*placement.start, *([placement.waiting] if placement.waiting else [])]
    assert len(kept) + sum(one.count for one in placement.skipped) == due + waits
    assert kept == sorted(kept)
    if overlap is not Overlap.ALLOW:
        assert len(placement.start) <= (not is_busy)


def test_neighbours_with_one_reason_are_one_entry() -> None:
    reasons = [Reason.OVERLAP, Reason.OVERLAP, Reason.LIMIT, Reason.OVERLAP]
    moments = [T0 + number * MINUTE for number in range(4)]
    skipped = [
        Skipped(reason=reason, first=moment, last=moment) for reason, moment in zip(reasons, moments, strict=True)
    ]

    merged = slots.merged(reversed(skipped))

    assert [(one.reason, one.count) for one in merged] == [(Reason.OVERLAP, 2), (Reason.LIMIT, 1), (Reason.OVERLAP, 1)]
    assert (merged[0].first, merged[0].last) == (T0, T0 + MINUTE)


@pytest.mark.parametrize("jitter", [0, 1, 60, 86_400])
def test_an_offset_is_within_the_jitter_and_the_same_each_time(jitter: int) -> None:
    offsets = [slots.offset(key, jitter) for key in range(200)]

    assert all(timedelta(0) <= one <= timedelta(seconds=jitter) for one in offsets)
    assert offsets == [slots.offset(key, jitter) for key in range(200)]
    assert len(set(offsets)) > 100 or not jitter
