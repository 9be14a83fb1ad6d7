"""An experiment: its options and its file, which ``record`` and ``plan`` take, and its shards."""
