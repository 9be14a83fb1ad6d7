"""What options of a config, and of a boot, cost: each a kernel that is compared with the base."""
