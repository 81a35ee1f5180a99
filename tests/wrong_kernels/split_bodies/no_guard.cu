// rejected: hazard — threads past the last body write into the next plane, or past the end
extern "C" __global__ void split_bodies(float *planes, const float *bodies, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 body = reinterpret_cast<const float4 *>(bodies)[i];
    planes[i] = body.x;
    planes[n + i] = body.y;
    planes[2 * n + i] = body.z;
    planes[3 * n + i] = body.w;
}
