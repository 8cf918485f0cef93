"""What can go wrong with a figure that somebody asks for."""


class DrawingError(ValueError):
    """The figure cannot be drawn as asked; the message says why and what would work."""
