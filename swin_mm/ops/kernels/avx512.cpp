// The kernels, compiled for AVX-512; setup.py says how.
#include "kernels.h"
