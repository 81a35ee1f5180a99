"""Captures, events and graphs: the same programs give the same on the stand-in and on a GPU through CuPy."""

import pytest

from course_lib import standin
from course_lib.standin.work import abandon_captures
from tests.standin.stream_programs import PROGRAMS, outcome


@pytest.fixture(autouse=True)
def _no_capture_is_left():
    yield
    abandon_captures()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_on_the_stand_in(program):
    assert outcome(program, standin) == PROGRAMS[program]


@pytest.mark.gpu
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_on_a_gpu(program, cupy):
    assert outcome(program, cupy) == PROGRAMS[program]
