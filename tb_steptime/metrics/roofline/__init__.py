"""How far kernels and steps are from what the GPU can do: the roofline, MFU and HFU."""
