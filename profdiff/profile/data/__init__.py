"""Which data the kernels of a comparison access, how often, and how sure a difference is."""
