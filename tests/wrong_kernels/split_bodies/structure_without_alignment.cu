// rejected: counter — a structure of four floats is aligned to 4 bytes, so the compiler loads it in four parts
struct Body { float x, y, z, mass; };

extern "C" __global__ void split_bodies(float *planes, const float *bodies, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Body body = reinterpret_cast<const Body *>(bodies)[i];
    planes[i] = body.x;
    planes[n + i] = body.y;
    planes[2 * n + i] = body.z;
    planes[3 * n + i] = body.mass;
}
