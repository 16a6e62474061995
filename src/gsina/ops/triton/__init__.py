"""Kernels for GPUs, by Triton."""
