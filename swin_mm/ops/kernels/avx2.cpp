// The kernels, compiled for AVX2; setup.py says how.
#include "kernels.h"
