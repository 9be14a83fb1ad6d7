"""What a session can show, a folder for each topic. ``registry`` lists them."""
