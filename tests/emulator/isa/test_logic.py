"""Bitwise logic, and predicates."""

import itertools

import pytest

A, B, C = 0xF0F0CCCC, 0xFF00AAAA, 0x0FF0F0F0


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_words(run, bits):
    full = 2**bits - 1
    a, b = A * 0x100000001 & full, B * 0x100000003 & full
    assert run(f"and.b{bits}", a, b) == a & b
    assert run(f"or.b{bits}", a, b) == a | b
    assert run(f"xor.b{bits}", a, b) == a ^ b
    assert run(f"not.b{bits}", a) == a ^ full
    assert run(f"cnot.b{bits}", [a, 0]).tolist() == [0, 1]


def test_predicates(run):
    a, b = [False, False, True, True], [False, True, False, True]
    assert run("and.pred", a, b).tolist() == [False, False, False, True]
    assert run("or.pred", a, b).tolist() == [False, True, True, True]
    assert run("xor.pred", a, b).tolist() == [False, True, True, False]
    assert run("not.pred", a).tolist() == [True, True, False, False]


@pytest.mark.parametrize("table", range(256))
def test_lop3_is_its_truth_table(run, table):
    for a, b, c in itertools.product((0, 1), repeat=3):
        assert run("lop3.b32", a, b, c, table) & 1 == table >> (4 * a + 2 * b + c) & 1


@pytest.mark.parametrize(
    ("table", "value"), [(0x96, A ^ B ^ C), (0xE8, A & B | C & (A | B)), (0xCA, A & B | ~A & C)]
)
def test_lop3_of_words(run, table, value):
    assert run("lop3.b32", A, B, C, table) == value & 0xFFFFFFFF


def test_lop3_constants_have_all_lanes(run):
    assert run("lop3.b32", [1, 2, 3], 0, 0, 0xFF).tolist() == [2**32 - 1] * 3
