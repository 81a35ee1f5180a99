"""CUDA sources of the matrix and asynchronous-copy kernels that the emulator's tests and a GPU run share.

The fragments of the mma kernels are filled by the formulas of the PTX ISA ("Matrix Fragments for mma.…"),
written here in CUDA C, so they do not depend on the emulator's own tables. A is stored by rows, B by columns.
"""

MMA_FORMS = {  # name: (shape, type of A, of B, of C and D, more)
    "f16_k8": ("m16n8k8", "f16", "f16", "f32"), "f16_k16": ("m16n8k16", "f16", "f16", "f32"),
    "f16_k8_f16": ("m16n8k8", "f16", "f16", "f16"), "f16_k16_f16": ("m16n8k16", "f16", "f16", "f16"),
    "bf16_k8": ("m16n8k8", "bf16", "bf16", "f32"), "bf16_k16": ("m16n8k16", "bf16", "bf16", "f32"),
    "tf32_k4": ("m16n8k4", "tf32", "tf32", "f32"), "tf32_k8": ("m16n8k8", "tf32", "tf32", "f32"),
    "s8_k16": ("m16n8k16", "s8", "s8", "s32"), "u8_k32": ("m16n8k32", "u8", "u8", "s32"),
    "s8u8_k32": ("m16n8k32", "s8", "u8", "s32"), "s8_m8": ("m8n8k16", "s8", "s8", "s32"),
    "s8_k32_sat": ("m16n8k32", "s8", "s8", "s32", ".satfinite"),
    "e4m3_k32": ("m16n8k32", "e4m3", "e4m3", "f32"), "e5m2_k32": ("m16n8k32", "e5m2", "e5m2", "f32"),
    "e4m3e5m2_k16": ("m16n8k16", "e4m3", "e5m2", "f32"), "e4m3_k32_f16": ("m16n8k32", "e4m3", "e4m3", "f16"),
    "f64_m8": ("m8n8k4", "f64", "f64", "f64"), "f64_k4": ("m16n8k4", "f64", "f64", "f64"),
    "f64_k8": ("m16n8k8", "f64", "f64", "f64"), "f64_k16": ("m16n8k16", "f64", "f64", "f64"),
}  # fmt: skip
BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "s8": 1, "u8": 1, "e4m3": 1, "e5m2": 1, "f64": 8, "f32": 4, "s32": 4}
_ELEMENT = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "double"}
# element i of a thread -> row and column; g = lane / 4, t = lane % 4
_A = {
    1: ("g + 8 * ((i >> 2) & 1)", "4 * t + (i & 3) + 16 * (i >> 3)"),
    2: ("g + 8 * ((i >> 1) & 1)", "2 * t + (i & 1) + 8 * (i >> 2)"),
    4: ("g + 8 * (i & 1)", "t + 4 * (i >> 1)"),
}
_B = {1: "4 * t + (i & 3) + 16 * (i >> 2)", 2: "2 * t + (i & 1) + 8 * (i >> 1)", 4: "t + 4 * i"}


def shape(name: str) -> tuple[int, int, int]:
    """`m16n8k8` -> (16, 8, 8)."""
    m, n, k = name[1:].replace("n", " ").replace("k", " ").split()
    return int(m), int(n), int(k)


def _union(name: str, bytes_: int, count: int) -> tuple[str, list[str]]:
    """Declaration of a thread's elements, and its registers as asm operands."""
    registers = count if bytes_ == 8 else count * bytes_ // 4
    letter, kind = ("d", "double") if bytes_ == 8 else ("r", "unsigned")
    text = f"union {{ {_ELEMENT[bytes_]} e[{count}]; {kind} r[{registers}]; }} {name};"
    return text, [f'"{letter}"({name}.r[{i}])' for i in range(registers)]


def mma_kernel(name: str) -> str:
    """D = A * B + C for one problem per warp."""
    form, a_type, b_type, c_type, *more = MMA_FORMS[name]
    m, n, k = shape(form)
    size_a, size_b, size_c = BYTES[a_type], BYTES[b_type], BYTES[c_type]
    counts = m * k // 32, n * k // 32, m * n // 32
    (a, in_a), (b, in_b), (c, in_c) = (_union(*what) for what in
        (("a", size_a, counts[0]), ("b", size_b, counts[1]), ("c", size_c, counts[2])))  # fmt: skip
    row, column = _A[min(size_a, 4)]
    outputs = [operand.replace('"', '"+', 1) for operand in in_c]
    numbers, at = [], 0
    for group in (in_c, in_a, in_b):
        numbers.append("{" + ", ".join(f"%{at + i}" for i in range(len(group))) + "}")
        at += len(group)
    opcode = f"mma.sync.aligned.{form}.row.col{''.join(more)}.{c_type}.{a_type}.{b_type}.{c_type}"
    return f"""
extern "C" __global__ void mma_{name}(const {_ELEMENT[size_a]}* A, const {_ELEMENT[size_b]}* B,
                                      const {_ELEMENT[size_c]}* C, {_ELEMENT[size_c]}* D)
{{
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    int g = lane >> 2, t = lane % 4;
    A += warp * {m * k}; B += warp * {n * k}; C += warp * {m * n}; D += warp * {m * n};
    {a} {b} {c}
    #pragma unroll
    for (int i = 0; i < {counts[0]}; ++i) a.e[i] = A[({row}) * {k} + {column}];
    #pragma unroll
    for (int i = 0; i < {counts[1]}; ++i) b.e[i] = B[g * {k} + {_B[min(size_b, 4)]}];
    #pragma unroll
    for (int i = 0; i < {counts[2]}; ++i) c.e[i] = C[(g + 8 * (i >> 1)) * {n} + 2 * t + (i & 1)];
    asm volatile("{opcode} {numbers[0]}, {numbers[1]}, {numbers[2]}, {numbers[0]};"
                 : {", ".join(outputs)} : {", ".join(in_a + in_b)});
    #pragma unroll
    for (int i = 0; i < {counts[2]}; ++i) D[(g + 8 * (i >> 1)) * {n} + 2 * t + (i & 1)] = c.e[i];
}}"""


MMA = "".join(mma_kernel(name) for name in MMA_FORMS)

WMMA_FORMS = {  # name: (m, n, k, C++ type of A and B, of C, layout of A, of B, of C and D)
    f"{kind}_m{m}n{n}_{a[0]}{b[0]}{c[0]}{'_half' if accumulator == 'half' else ''}":
        (m, n, k, cpp, accumulator, a, b, c)
    for kind, cpp, accumulators, shapes in (
        ("f16", "half", ("float", "half"), ((16, 16, 16), (32, 8, 16), (8, 32, 16))),
        ("bf16", "__nv_bfloat16", ("float",), ((16, 16, 16), (32, 8, 16), (8, 32, 16))),
        ("s8", "signed char", ("int",), ((16, 16, 16), (32, 8, 16), (8, 32, 16))),
        ("u8", "unsigned char", ("int",), ((16, 16, 16),)),
        ("tf32", "wmma::precision::tf32", ("float",), ((16, 16, 8),)),
        ("f64", "double", ("double",), ((8, 8, 4),)),
    )
    for accumulator in accumulators
    for m, n, k in shapes
    for a, b, c in (("row", "col", "row"), ("col", "row", "col"))
}  # fmt: skip
STORED = {"wmma::precision::tf32": "float"}


def wmma_kernel(name: str) -> str:
    """D = 2 * (A * B + C), one problem per block of one warp; every second goes through shared memory.

    `X` gets the elements of the A, B and C fragments as each thread holds them.
    """
    m, n, k, kind, accumulator, a, b, c = WMMA_FORMS[name]
    stored = STORED.get(kind, kind)
    lead = {"a": k if a == "row" else m, "b": n if b == "row" else k, "c": n if c == "row" else m}
    padded = 16 // {"double": 8, "float": 4, "int": 4, "half": 2, "__nv_bfloat16": 2}.get(stored, 1)
    return f"""
extern "C" __global__ void wmma_{name}(const {stored}* A, const {stored}* B, const {accumulator}* C,
                                       {accumulator}* D, {accumulator}* X)
{{
    using namespace nvcuda;
    __shared__ __align__(32) {stored} sa[{m * k} + 64 * {padded}], sb[{n * k} + 64 * {padded}];
    A += blockIdx.x * {m * k}; B += blockIdx.x * {n * k};
    C += blockIdx.x * {m * n}; D += blockIdx.x * {m * n};
    wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {kind}, wmma::{a}_major> fa;
    wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {kind}, wmma::{b}_major> fb;
    wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {accumulator}> fc;
    if (blockIdx.x % 2) {{
        #pragma unroll 1
        for (int i = threadIdx.x; i < {m * k}; i += 32)
            sa[i / {lead["a"]} * ({lead["a"]} + {padded}) + i % {lead["a"]}] = A[i];
        #pragma unroll 1
        for (int i = threadIdx.x; i < {n * k}; i += 32)
            sb[i / {lead["b"]} * ({lead["b"]} + {padded}) + i % {lead["b"]}] = B[i];
        __syncwarp();
        wmma::load_matrix_sync(fa, sa, {lead["a"]} + {padded});
        wmma::load_matrix_sync(fb, sb, {lead["b"]} + {padded});
    }} else {{
        wmma::load_matrix_sync(fa, A, {lead["a"]});
        wmma::load_matrix_sync(fb, B, {lead["b"]});
    }}
    wmma::load_matrix_sync(fc, C, {lead["c"]}, wmma::mem_{c}_major);
    X += blockIdx.x * 1280 + threadIdx.x;
    for (int i = 0; i < fa.num_elements; ++i) X[i * 32] = ({accumulator})({stored})fa.x[i];
    for (int i = 0; i < fb.num_elements; ++i) X[(16 + i) * 32] = ({accumulator})({stored})fb.x[i];
    for (int i = 0; i < fc.num_elements; ++i) X[(32 + i) * 32] = fc.x[i];
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
    wmma::store_matrix_sync(D, fc, {lead["c"]}, wmma::mem_{c}_major);
}}"""


def wmma_source(name: str) -> str:
    """The source that holds a wmma kernel: all of one type."""
    kind = name.split("_")[0]
    kernels = [wmma_kernel(other) for other in WMMA_FORMS if other.split("_")[0] == kind]
    return "#include <mma.h>\n#include <cuda_bf16.h>\n" + "".join(kernels)


_MATRICES = """
extern "C" __global__ void ldmatrix_{n}{suffix}(const unsigned* in, unsigned* out)
{{
    __shared__ __align__(16) unsigned s[32 * 12];
    int lane = threadIdx.x;
    for (int i = lane; i < 32 * 12; i += 32) s[i] = in[i];
    __syncwarp();
    unsigned at = __cvta_generic_to_shared(s + (lane * 7 % 32) * 12), r[{n}];
    if (lane >= 8 * {n}) at = 1;
    asm volatile("ldmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 {{{numbers}}}, [%{n}];"
                 : {outputs} : "r"(at));
    for (int i = 0; i < {n}; ++i) out[i * 32 + lane] = r[i];
}}
extern "C" __global__ void stmatrix_{n}{suffix}(const unsigned* in, unsigned* out)
{{
    __shared__ __align__(16) unsigned s[32 * 12];
    int lane = threadIdx.x;
    for (int i = lane; i < 32 * 12; i += 32) s[i] = 7;
    __syncwarp();
    unsigned at = __cvta_generic_to_shared(s + (lane * 7 % 32) * 12), r[{n}];
    if (lane >= 8 * {n}) at = 1;
    for (int i = 0; i < {n}; ++i) r[i] = in[i * 32 + lane];
    asm volatile("stmatrix.sync.aligned.m8n8.x{n}{trans}.shared.b16 [%0], {{{shifted}}};"
                 :: "r"(at), {inputs} : "memory");
    __syncwarp();
    for (int i = lane; i < 32 * 12; i += 32) out[i] = s[i];
}}"""


def _matrix_kernels(n: int, trans: str) -> str:
    return _MATRICES.format(
        n=n, trans=trans, suffix=trans.replace(".", "_"), numbers=", ".join(f"%{i}" for i in range(n)),
        shifted=", ".join(f"%{i + 1}" for i in range(n)),
        outputs=", ".join(f'"=r"(r[{i}])' for i in range(n)),
        inputs=", ".join(f'"r"(r[{i}])' for i in range(n)),
    )  # fmt: skip


MATRICES = (
    "".join(_matrix_kernels(n, trans) for n in (1, 2, 4) for trans in ("", ".trans"))
    + """
extern "C" __global__ void movmatrix(const unsigned* in, unsigned* out)
{
    unsigned r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = r;
}"""
)
