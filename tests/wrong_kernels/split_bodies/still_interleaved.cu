// rejected: wrong answer — copies the bodies as they are
extern "C" __global__ void split_bodies(float *planes, const float *bodies, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<float4 *>(planes)[i] = reinterpret_cast<const float4 *>(bodies)[i];
}
