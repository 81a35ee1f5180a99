"""printf and assert of device code: Python's own formatting is the authority."""

import numpy as np
import pytest

from course_lib.emulator.errors import EmulatorError, MemoryAccessError
from course_lib.emulator.printf import MOST_LINES

from .cuda import kernel, run


def printed(capsys: pytest.CaptureFixture, body: str, **settings: object) -> str:
    settings.setdefault("block", 1)
    run(body, np.zeros(64, np.int32), **settings)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "text"),
    [('"%d %i %u", -5, 7, 4000000000u', "-5 7 4000000000"),
     ('"%x %X %o %#x", 255, 255, 8, 255', "ff FF 10 0xff"),
     ('"%lld %llu", -5000000000ll, 18446744073709551615ull', "-5000000000 18446744073709551615"),
     ('"%ld %zu", 1l << 40, sizeof(double)', "1099511627776 8"),
     ('"%hd %hhd", (short)-3, (signed char)-4', "-3 -4"),
     ('"%f %.3f %10.2f|%-10.1f|", 0.1, 2.0 / 3, 3.14159, 2.5', "0.100000 0.667       3.14|2.5       |"),
     ('"%e %g %G", 12345.678, 1e-7, 1e20', "1.234568e+04 1e-07 1E+20"), ('"%c%c", 65, \'z\'', "Az"),
     ('"%5d|%-5d|%05d|%+d", 42, 42, 42, 42', "   42|42   |00042|+42"), ('"100%% %s", "text"', "100% text"),
     ('"%*d|%.*f", 6, 42, 2, 1.0 / 3', "    42|0.33"), ('"%s and %s", "one", "two"', "one and two"),
     ('"float promotes: %f", 0.5f', "float promotes: 0.500000"), ('"%p", (void *)255', "0xff"),
     ('"plain"', "plain"),
     ('"%f %f", INFINITY, -INFINITY', "inf -inf")],
)  # fmt: skip
def test_conversions(capsys: pytest.CaptureFixture, call: str, text: str) -> None:
    assert printed(capsys, f"printf({call});", before="#define INFINITY __int_as_float(0x7f800000)") == text


def test_every_thread_prints_in_order_of_block_and_thread(capsys: pytest.CaptureFixture) -> None:
    body = 'printf("%d.%d ", blockIdx.x, threadIdx.x);'
    assert printed(capsys, body, grid=2, block=3) == "0.0 0.1 0.2 1.0 1.1 1.2 "


def test_only_the_threads_of_a_branch_print(capsys: pytest.CaptureFixture) -> None:
    body = 'int i = threadIdx.x; if (i % 10 == 3) printf("%d:%f\\n", i, 0.5 * i);'
    assert printed(capsys, body, block=32) == "3:1.500000\n13:6.500000\n23:11.500000\n"


def test_a_loop_prints_line_by_line(capsys: pytest.CaptureFixture) -> None:
    body = 'for (int j = 0; j < 3; ++j) if (threadIdx.x == 0) printf("step %d\\n", j);'
    assert printed(capsys, body, block=32) == "step 0\nstep 1\nstep 2\n"


def test_a_format_chosen_at_run_time(capsys: pytest.CaptureFixture) -> None:
    body = 'const char *f = (threadIdx.x & 1) ? "odd %d\\n" : "even %d\\n"; printf(f, threadIdx.x);'
    assert printed(capsys, body, block=3) == "even 0\nodd 1\neven 2\n"


def test_text_beyond_ascii(capsys: pytest.CaptureFixture) -> None:
    assert printed(capsys, 'printf("größer → %d", 1);') == "größer → 1"


def test_output_is_cut(capsys: pytest.CaptureFixture) -> None:
    text = printed(capsys, 'printf("x\\n");', grid=40, block=256)
    assert text.count("x\n") == MOST_LINES
    assert text.endswith(f"more than {MOST_LINES} lines]\n")
    assert text.count("printf stops here") == 1


def test_the_result_is_the_number_of_arguments() -> None:
    """CUDA C++ Programming Guide, "Formatted Output": not the number of characters, as in C."""
    assert run('out[0] = printf("");', np.zeros(1, np.int32), block=1)[0] == 0
    assert run('out[0] = printf("%d %d %f", 1, 2, 3.0);', np.zeros(1, np.int32), block=1)[0] == 3


def test_a_text_that_is_not_there_is_named_as_what_printf_reads() -> None:
    with pytest.raises(MemoryAccessError, match=r"k, line 4: read by printf at global address 0x0 lies"):
        run('\n\n printf("%s", (const char *)0);', np.zeros(1, np.int32), block=1)


# -- assert and trap ---------------------------------------------------------------


def test_assert_that_holds() -> None:
    assert run("assert(threadIdx.x < 32); out[threadIdx.x] = 1;", np.zeros(32, np.int32)).all()


def test_assert_that_fails() -> None:
    body = '\n int i = blockIdx.x * 32 + threadIdx.x;\n assert(i != 40 && "forty");\n out[i] = 1;'
    with pytest.raises(
        EmulatorError,
        match=r'k, line 4: assertion failed: i != 40 && "forty" .block \(1, 0, 0\), thread \(8, 0, 0\)',
    ):
        run(body, np.zeros(64, np.int32), grid=2)


def test_trap() -> None:
    made = kernel("\n if (out[0] == 1) __trap();\n out[threadIdx.x] = 5;")
    with pytest.raises(EmulatorError, match=r"k, line 3: .*trap"):
        made((1,), (32,), (np.ones(32, np.int32),))
    assert run("if (out[0] == 1) __trap(); out[threadIdx.x] = 5;", np.zeros(32, np.int32)).all()
