"""What people and programs read: forms that know shapes, and no topic."""
