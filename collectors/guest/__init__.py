"""What runs inside the guest: the init script, the agent, and the header with the marks."""
