"""Reading PTX: names, scopes, labels, vectors, initial values and source lines."""

import contextlib

import numpy as np
import pytest

from course_lib.emulator.codegen import load
from course_lib.emulator.errors import EmulatorError, UnsupportedError
from course_lib.emulator.ptx import Imm, Instruction, Label, Mem, Pair, Reg, Sym, Vec
from course_lib.emulator.ptx_module import parse

from .cuda import HEAD, kernel, ptx_entry, run, run_ptx, store


def body_of(text: str) -> list:
    return parse(ptx_entry(text)).functions["k"].body[3:]  # three instructions fetch the parameter


def instruction(text: str) -> Instruction:
    return body_of(text)[0]


def uints(count: int = 32) -> np.ndarray:
    return np.zeros(count, np.uint32)


# -- literals and operands ---------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-12", -12), ("0x1F", 31), ("017", 15), ("0b101", 5), ("7U", 7), ("0xFFU", 255),
     ("0f3F800000", 1.0), ("0fC0000000", -2.0), ("0d3FF8000000000000", 1.5), ("1.5", 1.5), ("2.5e3", 2500.0),
     ("1e3", 1000.0), ("-0f3F800000", -1.0), ("0", 0)],
)  # fmt: skip
def test_literals(text: str, value: float) -> None:
    assert Imm(text).value() == value


def test_operands_of_every_shape() -> None:
    parsed = instruction("setp.lt.s32 %p1|%p2, %r1, -5;")
    assert parsed.operands == [Pair(Reg("%p1"), Reg("%p2")), Reg("%r1"), Imm("-5")]
    parsed = instruction("ld.global.v2.u32 {%r1, _}, [%rd0+-8];")
    assert parsed.operands == [Vec((Reg("%r1"), Reg("_"))), Mem(Reg("%rd0"), -8)]
    parsed = instruction("mov.u64 %rd1, table+16;")
    assert parsed.operands == [Reg("%rd1"), Sym("table", 16)]
    parsed = instruction("@!%p1 ld.shared.u32 %r1, [buffer+4];")
    assert parsed.guard == Reg("%p1", negated=True)
    assert parsed.operands[1] == Mem(Sym("buffer"), 4)
    assert instruction("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%rd1, {%f5, %f6}];").operands[1].coordinates


def test_comments_and_strings() -> None:
    text = ptx_entry('/* a ; } \n b */ mov.u32 %r1, 3; // ret; }\n .pragma "nounroll // no comment"; ret;')
    found = parse(text).functions["k"].body[3:]
    assert [one.opcode for one in found] == ["mov.u32", "ret"]
    line = text.split("\n").index(next(row for row in text.split("\n") if "mov.u32 %r1, 3" in row)) + 1
    assert found[0].ptx_line == line


# -- labels ------------------------------------------------------------------------


def test_labels_in_mid_line() -> None:
    body = "mov.u32 %r1, 0; Top: add.u32 %r1, %r1, 2; setp.lt.u32 %p1, %r1, 10; @%p1 bra Top; "
    assert (run_ptx(body + store("%r1"), uints()) == 10).all()


def test_a_label_before_a_brace_and_two_in_a_row() -> None:
    found = body_of("A: B: { mov.u32 %r1, 1; C: } bra A;")
    assert [one.name for one in found if isinstance(one, Label)][:2] == ["A", "B"]


def test_labels_are_local_to_their_scope() -> None:
    """The same inline assembly twice: both copies have a label Again."""
    once = "{{ .reg .u32 n; mov.u32 n, {count}; Again: sub.u32 n, n, 1; add.u32 %r1, %r1, 1; " \
           "setp.ne.u32 %p1, n, 0; @%p1 bra Again; }}"  # fmt: skip
    body = "mov.u32 %r1, 0;" + once.format(count=3) + once.format(count=5) + store("%r1")
    assert (run_ptx(body, uints()) == 8).all()


def test_a_branch_out_of_a_scope_and_forwards() -> None:
    body = f"mov.u32 %r1, 1; {{ bra End; mov.u32 %r1, 2; }} mov.u32 %r1, 3; End: {store('%r1')}"
    assert (run_ptx(body, uints()) == 1).all()


def test_a_branch_to_nowhere_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="Nowhere"):
        load(ptx_entry("bra Nowhere; ret;"), "k")


# -- registers and scopes ----------------------------------------------------------


def test_shadowed_names() -> None:
    body = "mov.u32 %r1, 7; { .reg .u32 %r1; mov.u32 %r1, 8; { .reg .u64 %r1; mov.u64 %r1, 9; } " \
           "add.u32 %r1, %r1, 1; mov.u32 %r2, %r1; } mad.lo.u32 %r3, %r1, 100, %r2;"  # fmt: skip
    assert (run_ptx(body + store("%r3"), uints()) == 709).all()


def test_names_without_percent() -> None:
    body = "{ .reg .u32 a, b; .reg .pred p; mov.u32 a, %tid.x; add.u32 b, a, a; setp.gt.u32 p, b, 10; " \
           "selp.u32 %r1, b, a, p; }" + store("%r1")  # fmt: skip
    lanes = np.arange(32)
    np.testing.assert_array_equal(run_ptx(body, uints()), np.where(2 * lanes > 10, 2 * lanes, lanes))


def test_directives_without_a_space() -> None:
    """As `cuda_fp16.hpp` writes them."""
    body = "{.reg.b32 hl; .reg.pred p; mov.b32 hl, 7; setp.eq.u32 p, hl, 7; selp.u32 %r1, hl, 0, p;}"
    assert (run_ptx(body + store("%r1"), uints()) == 7).all()


def test_numbered_registers() -> None:
    function = parse(ptx_entry(".reg .f32 x<3>, y; ret;")).functions["k"]
    assert {name: function.registers[name] for name in ("x0", "x1", "x2", "y")} == dict.fromkeys(
        ("x0", "x1", "x2", "y"), "f32"
    )


def test_vector_registers() -> None:
    body = ".reg .v4 .u32 v; .reg .v2 .u32 w; " \
           "mov.u32 v.x, 1; mov.u32 v.y, 20; mov.u32 v.b, 300; mov.u32 v.a, 4000; " \
           "mul.wide.u32 %rd1, %r0, 16; add.s64 %rd1, %rd0, %rd1; st.global.v4.u32 [%rd1], v; " \
           "ld.global.v2.u32 w, [%rd1+8]; add.u32 w.g, w.r, w.y; st.global.u32 [%rd1], w.y; ret;"  # fmt: skip
    out = run_ptx(body, uints(8), threads=2)
    assert out.tolist() == [4300, 20, 300, 4000] * 2


def test_a_vector_is_no_scalar() -> None:
    with pytest.raises(UnsupportedError, match="vector"):
        parse(ptx_entry(".reg .v2 .u32 v; @v ret;"))


# -- module level ------------------------------------------------------------------


def test_initial_values() -> None:
    text = (
        HEAD
        + """
        .global .align 4 .b8 bytes[6] = {1, 0xFF, 3};
        .global .u32 word = -2;
        .global .f32 real[2] = {0f3F800000, 2.5};
        .global .u16 matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
        .global .u64 pointer = generic(bytes)+4;
        .const .v2 .u32 pair = {7, 8};
        .global .attribute(.managed) .align 8 .b8 plain[8];
        .extern .shared .align 16 .b8 dynamic[];
        """
    )
    variables = parse(text).variables
    assert variables["bytes"].data == bytes([1, 255, 3, 0, 0, 0])
    assert variables["word"].data == (2**32 - 2).to_bytes(4, "little")
    assert np.frombuffer(variables["real"].data, np.float32).tolist() == [1.0, 2.5]
    assert np.frombuffer(variables["matrix"].data, np.uint16).tolist() == [1, 2, 3, 4, 5, 6]
    assert variables["pointer"].pointers == [(0, "bytes", 4)]
    assert (variables["pair"].space, variables["pair"].size, variables["pair"].data) == (
        "const", 8, b"\7\0\0\0\10\0\0\0")  # fmt: skip
    assert (variables["plain"].size, variables["plain"].align) == (8, 8)
    assert variables["dynamic"].extern
    assert variables["dynamic"].align == 16


def test_parameters_lie_as_in_a_structure() -> None:
    text = HEAD + ".entry k(.param .u8 a, .param .align 8 .b8 s[24], .param .u16 b, .param .f64 c) { ret; }"
    found = parse(text).functions["k"].parameters
    assert [(p.name, p.offset, p.size) for p in found] == [
        ("a", 0, 1),
        ("s", 8, 24),
        ("b", 32, 2),
        ("c", 40, 8),
    ]


def test_directives_and_declarations() -> None:
    text = HEAD + ".extern .func (.param .b32 r) vprintf (.param .b64 a);\n" \
        ".visible .entry k() .maxntid 64, 2, 1 .minnctapersm 3 { ret; }"  # fmt: skip
    module = parse(text)
    assert module.functions["k"].directives == {"maxntid": (64, 2, 1), "minnctapersm": (3,)}
    assert "vprintf" in module.declared


@pytest.mark.parametrize("cut", range(10, 400, 23))
def test_truncated_text_gives_one_kind_of_error(cut: int) -> None:
    whole = ptx_entry("mov.u32 %r1, 0; ld.global.v2.u32 {%r2, %r3}, [%rd0+8]; @%p1 bra L; L: ret;",
                      before=".global .u32 a[2] = {1, 2};")  # fmt: skip
    with contextlib.suppress(EmulatorError):
        load(whole[: len(whole) - cut], "k")


# -- source lines ------------------------------------------------------------------


def lines_of(text: str, before: str = "") -> list[int]:
    whole = f'{ptx_entry(text)}{before or ""}\n.file 1 "kernel.cu"\n.file 2 "cuda_fp16.hpp"\n'
    return [one.line for one in parse(whole).functions["k"].body[3:]]


def test_loc() -> None:
    assert lines_of("\n.loc 1 12 5\nmov.u32 %r1, 0;\nmov.u32 %r1, 1;\n.loc 1 13 1\nret;") == [12, 12, 13]


def test_line_0_and_headers_keep_the_last_line() -> None:
    assert lines_of("\n.loc 1 12 5\nmov.u32 %r1, 0;\n.loc 1 0 5\nmov.u32 %r1, 1;\n.loc 2 99 1\nret;") == [
        12,
        12,
        12,
    ]


def test_code_of_a_header_counts_at_its_call() -> None:
    text = (
        "\n.loc 1 12 5\nmov.u32 %r1, 0;\n.loc 2 99 1, function_name $L__info_string0, inlined_at 1 14 3\nret;"
    )
    assert lines_of(text) == [12, 14]


def test_calls_within_headers_lead_back_to_the_learners_line() -> None:
    text = "\n.loc 2 50 1, function_name $a, inlined_at 1 14 3\nmov.u32 %r1, 0;" \
           "\n.loc 1 20 1\nmov.u32 %r1, 0;" \
           "\n.loc 2 70 2, function_name $b, inlined_at 2 50 1\nret;"  # fmt: skip
    assert lines_of(text) == [14, 20, 14]


def test_a_device_function_of_the_learner_keeps_its_own_lines() -> None:
    text = (
        "\n.loc 1 12 5\nmov.u32 %r1, 0;\n.loc 1 3 1, function_name $L__info_string0, inlined_at 1 12 5\nret;"
    )
    assert lines_of(text) == [12, 3]


def test_lines_of_a_real_kernel() -> None:
    made = kernel("int i = threadIdx.x;\n  float x = __half2float(__float2half(i));\n  out[i] = x;",
                  "float *out", "#include <cuda_fp16.h>")  # fmt: skip
    by_opcode = {one.opcode: one.line for one in made.program.instructions}
    assert by_opcode["cvt.f32.f16"] == 3
    assert by_opcode["st.global.f32"] == 4


# -- inline assembly through NVRTC -------------------------------------------------


def test_inline_assembly_with_a_scope_and_vectors() -> None:
    body = r"""
      unsigned r, x = threadIdx.x;
      asm volatile("{ .reg .u32 %%tmp; .reg .v2 .u32 v; mov.u32 %%tmp, %1; mov.b64 {v.x, v.y}, 0x500000003; "
                   "mad.lo.u32 %0, %%tmp, v.y, v.x; }" : "=r"(r) : "r"(x));
      out[x] = r;"""
    np.testing.assert_array_equal(run(body, np.zeros(32, np.int32)), 5 * np.arange(32) + 3)


def test_inline_assembly_with_a_loop_in_a_device_function_used_twice() -> None:
    before = r"""__device__ __forceinline__ int count(int n) { int r = 0;
      asm volatile("{ .reg .pred p; .reg .s32 left; mov.s32 left, %1; "
                   "More: add.s32 %0, %0, 3; sub.s32 left, left, 1;"
                   " setp.gt.s32 p, left, 0; @p bra More; }" : "+r"(r) : "r"(n)); return r; }"""
    out = run(
        "int i = threadIdx.x; out[i] = count(i + 1) + 1000 * count(2);", np.zeros(32, np.int32), before=before
    )
    np.testing.assert_array_equal(out, 3 * np.arange(1, 33) + 6000)
