"""What a session can show, a folder or a module for each topic. ``registry`` lists them."""
