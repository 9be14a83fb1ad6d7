"""Mail to kernel lists: what a session shows, as a draft that ``git send-email`` takes."""
