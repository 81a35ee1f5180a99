"""Names of counters, one for each everywhere in the course; Nsight Compute has all but those with `course__`.

`course_lib.report.PLAIN_NAMES` says in words what they count.
"""

LD_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"
LD_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
ST_REQUESTS = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"
ST_SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
SECTORS = "memory_l2_theoretical_sectors_global"
FEWEST_SECTORS = "memory_l2_theoretical_sectors_global_ideal"
DISTINCT_LD = "course__unique_dram_bytes_ld"
DISTINCT_ST = "course__unique_dram_bytes_st"
READS = "course__reads_global.sum"  # loads, asynchronous copies and atomic operations
READ_SECTORS = "course__read_sectors_global.sum"
ROUNDS = "course__load_rounds.sum"
ATOMICS = "course__atomics_global.sum"

GLOBAL_LOADS = "smsp__sass_inst_executed_op_global_ld.sum"
GLOBAL_STORES = "smsp__sass_inst_executed_op_global_st.sum"
SHARED_LOADS = "smsp__sass_inst_executed_op_shared_ld.sum"
SHARED_STORES = "smsp__sass_inst_executed_op_shared_st.sum"
WAVEFRONTS = "memory_l1_wavefronts_shared"
FEWEST_WAVEFRONTS = "memory_l1_wavefronts_shared_ideal"
LD_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
ST_WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"
IN_FLIGHT = "course__async_bytes_in_flight.max"

INSTRUCTIONS = "smsp__inst_executed.sum"
LANES = "smsp__thread_inst_executed_per_inst_executed.ratio"
BRANCHES = "course__branches.sum"
DIVERGENT = "course__branches_divergent.sum"
BARRIERS = "course__barriers.sum"
FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
TENSOR = "course__tensor_flops.sum"

BLOCKS = "launch__grid_size"
BLOCK_THREADS = "launch__block_size"
REGISTERS = "launch__registers_per_thread"
STATIC_BYTES = "launch__shared_mem_per_block_static"
LOCAL = "course__local_bytes_per_thread"
