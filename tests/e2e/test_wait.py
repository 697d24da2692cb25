"""The wait helper tells a wait from a failure. Needs no cluster."""

import kubernetes
import pytest
from support.wait import absent, away, conflict, wait_for


def raising(*errors):
    """A predicate that raises these in order, and then is true."""
    left = list(errors)

    def look():
        if left:
            raise left.pop(0)
        return "there"
    return look


def refusal(status):
    return kubernetes.client.ApiException(status=status)


def test_an_unexpected_exception_ends_the_wait_at_once():
    look = raising(KeyError("status"))
    with pytest.raises(KeyError):
        wait_for(look, "a status", timeout=5)
    assert look() == "there"  # it was not asked again


def test_a_refusal_of_another_kind_ends_it_too():
    with pytest.raises(kubernetes.client.ApiException):
        wait_for(raising(refusal(403)), "an object", timeout=5, not_yet=[absent, conflict, away])


@pytest.mark.parametrize("kind, error", [
    (absent, refusal(404)), (conflict, refusal(409)), (away, refusal(503)), (away, ConnectionRefusedError())])
def test_an_expected_exception_means_not_yet(kind, error):
    assert wait_for(raising(error, error), "it", timeout=5, interval=0, not_yet=[kind]) == "there"


def test_the_deadline_reports_the_last_value():
    with pytest.raises(pytest.fail.Exception, match="for three pods; last seen: 2"):
        wait_for(lambda: (False, 2), "three pods", timeout=0)


def test_the_deadline_reports_the_last_exception():
    with pytest.raises(pytest.fail.Exception, match="ConnectionRefusedError"):
        wait_for(raising(*[ConnectionRefusedError()] * 3), "an answer", timeout=0, not_yet=[away])
