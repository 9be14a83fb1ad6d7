"""The contention collector: counts while vCPUs take turns at random places, a model."""
