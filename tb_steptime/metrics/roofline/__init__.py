"""The distance of kernels and steps from the GPU's limits: the roofline, MFU and HFU."""
