"""What reports are rendered from: page, styles, scripts; put into the page as they are."""
