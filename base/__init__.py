"""What every layer stands on: errors, files, the terminal, words for numbers."""
