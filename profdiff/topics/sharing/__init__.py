"""Which data lies in the cache lines that change hands between vCPUs."""
